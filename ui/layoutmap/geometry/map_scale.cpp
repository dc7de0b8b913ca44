// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_scale.h"

#include <algorithm>
#include <array>

namespace shardscope::ui {

namespace {

constexpr uint64_t kUnit = 1024;
/// round(1024 · 2^(i/32)): the ratios between two octaves.
constexpr std::array<uint64_t, MapScale::kStepsPerOctave> kMantissas
    = {1024, 1046, 1069, 1093, 1117, 1141, 1166, 1192, 1218, 1244, 1272, 1300, 1328, 1357, 1387, 1417, 1448,
        1480, 1512, 1545, 1579, 1614, 1649, 1685, 1722, 1760, 1798, 1838, 1878, 1919, 1961, 2004};
/// Rows sharing a pixel need fewer rungs than elements do: eight per octave.
constexpr int kStepsPerRowLevel = MapScale::kStepsPerOctave / 8;
/// Fine enough that rows which fit a page leave less than a tenth of it.
constexpr std::array<int, 54> kRowHeights = {1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
    32, 36, 40, 44, 48, 52, 56, 60, 64, 70, 76, 82, 88, 96, 104, 112, 120, 128, 140, 152, 164, 176, 192, 208,
    224, 240, 256, 280, 304, 328, 352, 384, 416, 448, 480, 512};

/// The scale of rows per pixel at a negative level.
MapScale sharedRows(int level)
{
    return MapScale(-level * kStepsPerRowLevel);
}

} // namespace

MapScale::MapScale(int step)
    : m_step(std::clamp(step, kFinest, kCoarsest))
{
}

MapScale::Ratio MapScale::ratio() const
{
    const int octave
        = m_step >= 0 ? m_step / kStepsPerOctave : -((-m_step + kStepsPerOctave - 1) / kStepsPerOctave);
    const Wide mantissa = kMantissas[static_cast<size_t>(m_step - octave * kStepsPerOctave)];
    // Small numbers where they suffice: products then fit 128 bits with any 64-bit position.
    const Wide fraction = m_fraction == kWholeRung ? 1 : m_fraction;
    const Wide unit = m_fraction == kWholeRung ? kUnit : Wide{kUnit} * kWholeRung;
    return octave >= 0 ? Ratio{mantissa * fraction << octave, unit}
                       : Ratio{mantissa * fraction, unit << -octave};
}

double MapScale::elementsPerPixel() const
{
    const Ratio ratio = this->ratio();
    return static_cast<double>(ratio.elements) / static_cast<double>(ratio.pixels);
}

uint64_t MapScale::elementAt(int64_t pixel) const
{
    if (pixel <= 0) {
        return 0;
    }
    const Ratio ratio = this->ratio();
    const Wide wide = static_cast<uint64_t>(pixel);
    if (wide > ~Wide{0} / ratio.elements) {
        return UINT64_MAX;
    }
    const Wide element = wide * ratio.elements / ratio.pixels;
    return element > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(element);
}

int64_t MapScale::leftEdge(uint64_t element) const
{
    const Ratio ratio = this->ratio();
    if (element > (~Wide{0} - ratio.elements) / ratio.pixels) {
        return INT64_MAX;
    }
    const Wide pixel = (element * ratio.pixels + ratio.elements - 1) / ratio.elements;
    return pixel > static_cast<Wide>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(pixel);
}

int64_t MapScale::pixelOf(uint64_t element) const
{
    const int64_t pixel = leftEdge(element);
    return elementAt(pixel) > element ? pixel - 1 : pixel;
}

MapScale MapScale::fitting(uint64_t elements, int64_t pixels)
{
    int fine = kFinest;
    int coarse = kCoarsest;
    while (fine < coarse) {
        const int middle = fine + (coarse - fine) / 2;
        if (MapScale(middle).leftEdge(elements) <= std::max<int64_t>(pixels, 1)) {
            coarse = middle;
        } else {
            fine = middle + 1;
        }
    }
    return MapScale(coarse);
}

MapScale MapScale::stretched(uint64_t part, uint64_t whole) const
{
    if (part == 0 || part >= whole) {
        return *this;
    }
    int octaves = 0;
    while (part <= whole >> (octaves + 1)) {
        ++octaves;
    }
    MapScale scale = *this;
    scale.m_step -= octaves * kStepsPerOctave;
    // Rounded up: a little narrower, never wider.
    scale.m_fraction = static_cast<uint64_t>(((Wide{part} << octaves) * kWholeRung + whole - 1) / whole);
    return scale;
}

int MapRowScale::coarsestLevel()
{
    return -33 * 8;
}

int MapRowScale::tallestLevel()
{
    return static_cast<int>(kRowHeights.size()) - 1;
}

MapRowScale::MapRowScale(int level)
    : m_level(std::clamp(level, coarsestLevel(), tallestLevel()))
{
}

int MapRowScale::rowHeight() const
{
    return m_level < 0 ? 0 : kRowHeights[static_cast<size_t>(m_level)];
}

double MapRowScale::rowsPerPixel() const
{
    return m_level < 0 ? sharedRows(m_level).elementsPerPixel() : 1.0 / rowHeight();
}

uint64_t MapRowScale::rowAt(int64_t pixel) const
{
    if (m_level < 0) {
        return sharedRows(m_level).elementAt(pixel);
    }
    return pixel <= 0 ? 0 : static_cast<uint64_t>(pixel) / static_cast<uint64_t>(rowHeight());
}

int64_t MapRowScale::topEdge(uint64_t row) const
{
    if (m_level < 0) {
        return sharedRows(m_level).leftEdge(row);
    }
    return static_cast<int64_t>(row) * rowHeight();
}

int64_t MapRowScale::pixelOf(uint64_t row) const
{
    return m_level < 0 ? sharedRows(m_level).pixelOf(row) : topEdge(row);
}

MapRowScale MapRowScale::fitting(uint32_t rows, int64_t pixels, int maxHeight)
{
    for (int level = tallestLevel(); level >= 0; --level) {
        const MapRowScale scale(level);
        if (scale.rowHeight() <= maxHeight && scale.topEdge(rows) <= pixels) {
            return scale;
        }
    }
    int level = -1;
    while (level > coarsestLevel() && MapRowScale(level).topEdge(rows) > std::max<int64_t>(pixels, 1)) {
        --level;
    }
    return MapRowScale(level);
}

} // namespace shardscope::ui
