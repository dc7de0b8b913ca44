// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/value_scale.h"

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr double kDecades = 6;

} // namespace

double ValueScale::limit() const
{
    return std::max(std::abs(low), std::abs(high));
}

double ValueScale::place(double value) const
{
    const double most = limit();
    if (most == 0 || (!symmetric && !logarithmic && high <= low))
        return symmetric ? 0.5 : 0;
    if (!logarithmic)
        return std::clamp(symmetric ? (value / most + 1) / 2 : (value - low) / (high - low), 0.0, 1.0);
    const double magnitude
        = value == 0 ? 0 : std::clamp(1 + std::log10(std::abs(value) / most) / kDecades, 0.0, 1.0);
    return symmetric ? 0.5 + std::copysign(magnitude, value) / 2 : magnitude;
}

double ValueScale::valueAt(double place) const
{
    const double most = limit();
    if (!logarithmic)
        return symmetric ? (2 * place - 1) * most : low + place * (high - low);
    const double magnitude = symmetric ? std::abs(2 * place - 1) : place;
    const double value = magnitude == 0 ? 0 : most * std::pow(10, (magnitude - 1) * kDecades);
    return symmetric && place < 0.5 ? -value : value;
}

QRgb ValueScale::colourAt(const MapPalette& palette, double place) const
{
    const auto amount
        = [](double part) { return static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * 255)); };
    if (symmetric) {
        const QRgb end = place < 0.5 ? palette.hues[0] : palette.hues[1];
        return blended(palette.background, end, amount(std::abs(2 * place - 1)));
    }
    const double stops = place * static_cast<double>(palette.sequence.size() - 1);
    const auto stop = std::min(static_cast<size_t>(stops), palette.sequence.size() - 2);
    return blended(
        palette.sequence[stop], palette.sequence[stop + 1], amount(stops - static_cast<double>(stop)));
}

} // namespace shardscope::ui
