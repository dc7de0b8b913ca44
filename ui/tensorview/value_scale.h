// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/map_palette.h"

namespace shardscope::ui {

/// How values become colours: symmetric about zero with two hues, or a free range from dark to bright; evenly
/// or by their magnitude over six decades. Pure value.
struct ValueScale {
    double low = 0;
    double high = 1;
    bool symmetric = true;
    bool logarithmic = false;
    bool operator==(const ValueScale&) const = default;

    /// The largest magnitude that has a colour of its own.
    [[nodiscard]] double limit() const;
    /// Place on the scale: 0 to 1, values beyond it at its ends.
    [[nodiscard]] double place(double value) const;
    /// The value at a place, for the ticks of a colour bar.
    [[nodiscard]] double valueAt(double place) const;
    [[nodiscard]] QRgb colourAt(const MapPalette& palette, double place) const;
};

} // namespace shardscope::ui
