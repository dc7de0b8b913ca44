// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_scale.h"

#include <QRect>

namespace shardscope::ui {

/// A half-open range of rows or elements.
struct MapRange {
    uint64_t begin = 0;
    uint64_t end = 0;

    [[nodiscard]] bool isEmpty() const { return end <= begin; }
    [[nodiscard]] uint64_t size() const { return isEmpty() ? 0 : end - begin; }
    [[nodiscard]] bool contains(uint64_t position) const { return position >= begin && position < end; }
    bool operator==(const MapRange&) const = default;
};

/// Rows × elements of one section: what a selection or a viewport covers.
struct MapBlock {
    MapRange rows;
    MapRange elements;
    uint32_t section = 0;

    [[nodiscard]] bool isEmpty() const { return rows.isEmpty() || elements.isEmpty(); }
    [[nodiscard]] bool contains(uint64_t row, uint64_t element) const
    {
        return rows.contains(row) && elements.contains(element);
    }
    bool operator==(const MapBlock&) const = default;
};

/// A rectangle of content pixels, counted from the map's own left top corner at the current zoom.
struct ContentRect {
    int64_t x = 0;
    int64_t y = 0;
    int64_t width = 0;
    int64_t height = 0;
    bool operator==(const ContentRect&) const = default;
};

/// The mapping between rows × elements of one section and its pixels at one zoom. Pure and exact: no state,
/// no rounding. MapLayout places the sections of a map.
///
/// All pixels are device pixels. Content pixel (x, y) shows the element at its left edge; where several rows
/// share a pixel row, it shows the band rowsAt(y).
class MapGeometry
{
public:
    MapGeometry() = default;
    MapGeometry(uint64_t columns, uint32_t rows, MapScale scale, MapRowScale rowScale);

    [[nodiscard]] uint64_t columns() const { return m_columns; }
    [[nodiscard]] uint32_t rows() const { return m_rows; }
    [[nodiscard]] MapScale scale() const { return m_scale; }
    [[nodiscard]] MapRowScale rowScale() const { return m_rowScale; }
    void setScale(MapScale scale) { m_scale = scale; }
    void setRowScale(MapRowScale scale) { m_rowScale = scale; }

    [[nodiscard]] int64_t contentWidth() const { return m_scale.leftEdge(m_columns); }
    [[nodiscard]] int64_t contentHeight() const { return m_rowScale.topEdge(m_rows); }

    /// The element shown at content pixel x, not beyond the last one.
    [[nodiscard]] uint64_t elementAt(int64_t x) const;
    /// The elements at content pixel x: at least one, no gap and, when zoomed out, no overlap.
    [[nodiscard]] MapRange elementsAt(int64_t x) const;
    /// The rows at content pixel y: one, or the whole band that shares it. Empty below the last row.
    [[nodiscard]] MapRange rowsAt(int64_t y) const;
    /// Elements of content pixels [begin, end), and rows likewise, clipped to the map.
    [[nodiscard]] MapRange elementsIn(int64_t begin, int64_t end) const;
    [[nodiscard]] MapRange rowsIn(int64_t begin, int64_t end) const;

    /// The pixels a block covers; at least one pixel each way unless the block is empty.
    [[nodiscard]] ContentRect rectOf(const MapBlock& block) const;

    bool operator==(const MapGeometry&) const = default;

private:
    uint64_t m_columns = 0;
    uint32_t m_rows = 0;
    MapScale m_scale;
    MapRowScale m_rowScale;
};

} // namespace shardscope::ui
