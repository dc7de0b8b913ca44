// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace shardscope::ui {

/// Between the ticks of an axis: 1, 2 or 5 times a power of ten, at least `least`, which is above 0.
inline double roundStep(double least)
{
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least)
            return factor * power;
    return 10 * power;
}

} // namespace shardscope::ui
