// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/difference_marks.h"

#include <QColor>

#include <array>
#include <cstdint>

namespace shardscope::ui {

/// The theme's colours as plain numbers, which worker threads can read. Value type.
struct MapPalette {
    std::array<QRgb, 8> classes{}; ///< by ParamClass
    std::array<QRgb, 12> hues{}; ///< by parameter or rank
    std::array<QRgb, 5> sequence{}; ///< ordered values, low to high; interpolated
    QRgb background = 0; ///< behind the rows, and between them
    QRgb text = 0;
    QRgb mutedText = 0;
    QRgb grid = 0;
    QRgb padding = 0;
    QRgb paddingHatch = 0;
    QRgb paddingOutline = 0; ///< dotted border of padding that is in no file
    QRgb missing = 0;
    QRgb error = 0;
    QRgb warning = 0;
    QRgb selection = 0;
};

/// The colour of a difference mark; parameters on one side only have one colour per side.
QRgb differenceColour(const MapPalette& palette, DifferenceMark mark, bool isRight);
QRgb differentPaddingColour(const MapPalette& palette);

class Theme;
MapPalette mapPaletteFrom(const Theme& theme);

/// `amount` 0 gives `from`, 255 gives `to`; the result is opaque.
constexpr QRgb blended(QRgb from, QRgb to, int amount)
{
    const auto channel = [&](int shift) {
        const int a = static_cast<int>((from >> shift) & 0xFFu);
        const int b = static_cast<int>((to >> shift) & 0xFFu);
        return static_cast<QRgb>(a + (b - a) * amount / 255) << shift;
    };
    return 0xFF000000u | channel(16) | channel(8) | channel(0);
}

/// Words about missing data, on the background: its colour alone has too little contrast for text.
QRgb missingText(const MapPalette& palette);
/// Black or white, whichever reads better on `background`.
QRgb readableOn(QRgb background);
/// The colour with 60 % less saturation, for frozen parameters.
QRgb desaturated(QRgb colour);

} // namespace shardscope::ui
