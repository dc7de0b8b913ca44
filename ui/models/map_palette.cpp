// SPDX-License-Identifier: Apache-2.0
#include "ui/models/map_palette.h"

#include "ui/style/theme.h"

#include <cmath>

namespace shardscope::ui {

namespace {

double luminance(QRgb colour)
{
    const auto linear = [](int value) {
        const double part = value / 255.0;
        return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(qRed(colour)) + 0.7152 * linear(qGreen(colour)) + 0.0722 * linear(qBlue(colour));
}

} // namespace

QRgb differenceColour(const MapPalette& palette, DifferenceMark mark, bool isRight)
{
    switch (mark) {
    case DifferenceMark::Equal:
        return blended(palette.background, palette.mutedText, 90);
    case DifferenceMark::LastBit:
        return palette.hues[4];
    case DifferenceMark::Values:
        return palette.hues[0];
    case DifferenceMark::OtherState:
        return blended(palette.hues[0], palette.background, 150);
    case DifferenceMark::OneSide:
        return isRight ? palette.hues[2] : palette.hues[1];
    case DifferenceMark::NotCompared:
        break;
    }
    return palette.grid;
}

QRgb differentPaddingColour(const MapPalette& palette)
{
    return palette.hues[3];
}

MapPalette mapPaletteFrom(const Theme& theme)
{
    const auto role = [&](ThemeRole value) { return theme.colour(value).rgb(); };
    MapPalette palette;
    for (size_t i = 0; i < palette.classes.size(); ++i) {
        palette.classes[i] = theme.classColour(static_cast<ParamClass>(i)).rgb();
    }
    for (size_t i = 0; i < palette.hues.size(); ++i) {
        palette.hues[i] = theme.hue(i).rgb();
    }
    for (size_t i = 0; i < palette.sequence.size(); ++i) {
        palette.sequence[i] = theme.sequence(i).rgb();
    }
    palette.background = role(ThemeRole::MapBackground);
    palette.text = role(ThemeRole::Text);
    palette.mutedText = role(ThemeRole::MutedText);
    palette.grid = role(ThemeRole::MapGrid);
    palette.padding = role(ThemeRole::Padding);
    palette.paddingHatch = role(ThemeRole::PaddingHatch);
    palette.paddingOutline = role(ThemeRole::PaddingOutline);
    palette.missing = role(ThemeRole::Missing);
    palette.error = role(ThemeRole::Error);
    palette.warning = role(ThemeRole::Warning);
    palette.selection = role(ThemeRole::Accent);
    return palette;
}

QRgb missingText(const MapPalette& palette)
{
    return blended(palette.missing, palette.text, 70);
}

QRgb readableOn(QRgb background)
{
    // The luminance at which the contrast with black equals that with white.
    return luminance(background) > 0.179 ? qRgb(0, 0, 0) : qRgb(255, 255, 255);
}

QRgb desaturated(QRgb colour)
{
    const int grey = qGray(colour);
    return blended(colour, qRgb(grey, grey, grey), 153);
}

} // namespace shardscope::ui
