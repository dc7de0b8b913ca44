// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardscope::ui {

/// One rung of the zoom ladder: how many elements (or rows) one device pixel covers.
///
/// A rung is a power of two with small steps between, stored as a ratio of integers, so that positions of
/// 64-bit elements map to pixels and back without rounding errors and neighbouring tiles always agree.
/// Content pixel p shows the element at its left edge. Value type.
class MapScale
{
public:
    static constexpr int kStepsPerOctave = 32;
    static constexpr int kFinest = -7 * kStepsPerOctave; ///< 128 pixels per element
    static constexpr int kCoarsest = 52 * kStepsPerOctave; ///< 2^52 elements per pixel

    constexpr MapScale() = default;
    /// Steps beyond the ladder's ends are clamped to them.
    explicit MapScale(int step);

    [[nodiscard]] int step() const { return m_step; }
    [[nodiscard]] double elementsPerPixel() const;
    [[nodiscard]] double pixelsPerElement() const { return 1.0 / elementsPerPixel(); }

    /// The element at the left edge of a content pixel; 0 for pixels left of the content.
    [[nodiscard]] uint64_t elementAt(int64_t pixel) const;
    /// The first content pixel whose left edge is at or after the element's beginning.
    [[nodiscard]] int64_t leftEdge(uint64_t element) const;
    /// The content pixel of the element: its first one, or the one it shares with others.
    [[nodiscard]] int64_t pixelOf(uint64_t element) const;

    /// The finest rung at which `elements` fit into `pixels`.
    static MapScale fitting(uint64_t elements, int64_t pixels);
    /// The scale at which `part` elements are as wide as `whole` elements are in this one, not wider; this
    /// one unless `part` is smaller. It is between two rungs, and may be finer than the ladder.
    [[nodiscard]] MapScale stretched(uint64_t part, uint64_t whole) const;

    bool operator==(const MapScale&) const = default;

private:
    __extension__ using Wide = unsigned __int128;
    struct Ratio {
        Wide elements;
        Wide pixels;
    };
    [[nodiscard]] Ratio ratio() const;

    static constexpr uint64_t kWholeRung = uint64_t{1} << 32;
    int m_step = 0;
    /// Elements per pixel, as a part of the rung's: m_fraction / kWholeRung; more than a half.
    uint64_t m_fraction = kWholeRung;
};

/// One rung of the row axis: rows of a fixed height in pixels (level ≥ 0), or several rows per pixel (level <
/// 0).
class MapRowScale
{
public:
    static int coarsestLevel();
    static int tallestLevel();

    constexpr MapRowScale() = default;
    explicit MapRowScale(int level);

    [[nodiscard]] int level() const { return m_level; }
    /// Height of a row in pixels; 0 where several rows share a pixel.
    [[nodiscard]] int rowHeight() const;
    [[nodiscard]] double rowsPerPixel() const;
    /// The row at the top of a content pixel.
    [[nodiscard]] uint64_t rowAt(int64_t pixel) const;
    /// The first content pixel of a row.
    [[nodiscard]] int64_t topEdge(uint64_t row) const;
    /// The content pixel of the row: its first one, or the one it shares with others.
    [[nodiscard]] int64_t pixelOf(uint64_t row) const;

    /// The tallest rows at which `rows` fit into `pixels`, not taller than `maxHeight`.
    static MapRowScale fitting(uint32_t rows, int64_t pixels, int maxHeight);

    bool operator==(const MapRowScale&) const = default;

private:
    int m_level = 0;
};

} // namespace shardscope::ui
