// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string_view>

namespace shardscope {

/// States of the Adam family that are means of squares, by torch's names.
inline bool isMeanOfSquares(std::string_view state)
{
    return state == "exp_avg_sq" || state == "max_exp_avg_sq";
}

/// Whether training can resume from a value of this state: it is finite, and not negative if it is a mean of
/// squares.
inline bool isSound(std::string_view state, double value)
{
    return std::isfinite(value) && (value >= 0 || !isMeanOfSquares(state));
}

} // namespace shardscope
