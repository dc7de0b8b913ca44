// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_geometry.h"

#include <algorithm>

namespace shardscope::ui {

MapGeometry::MapGeometry(uint64_t columns, uint32_t rows, MapScale scale, MapRowScale rowScale)
    : m_columns(columns)
    , m_rows(rows)
    , m_scale(scale)
    , m_rowScale(rowScale)
{
}

uint64_t MapGeometry::elementAt(int64_t x) const
{
    return m_columns == 0 ? 0 : std::min(m_scale.elementAt(x), m_columns - 1);
}

MapRange MapGeometry::elementsAt(int64_t x) const
{
    const uint64_t begin = std::min(m_scale.elementAt(x), m_columns);
    return {begin, std::min(std::max(m_scale.elementAt(x + 1), begin + 1), m_columns)};
}

MapRange MapGeometry::rowsAt(int64_t y) const
{
    const uint64_t begin = std::min<uint64_t>(m_rowScale.rowAt(y), m_rows);
    return {begin, std::min<uint64_t>(std::max(m_rowScale.rowAt(y + 1), begin + 1), m_rows)};
}

MapRange MapGeometry::elementsIn(int64_t begin, int64_t end) const
{
    if (end <= begin || end <= 0 || m_columns == 0) {
        return {};
    }
    const uint64_t first = std::min(m_scale.elementAt(begin), m_columns);
    return {first, std::max(first, elementsAt(end - 1).end)};
}

MapRange MapGeometry::rowsIn(int64_t begin, int64_t end) const
{
    if (end <= begin || end <= 0 || m_rows == 0) {
        return {};
    }
    const uint64_t first = std::min<uint64_t>(m_rowScale.rowAt(begin), m_rows);
    return {first, std::max(first, rowsAt(end - 1).end)};
}

ContentRect MapGeometry::rectOf(const MapBlock& block) const
{
    if (block.isEmpty()) {
        return {};
    }
    const int64_t left = m_scale.pixelOf(block.elements.begin);
    const int64_t right = std::max(m_scale.leftEdge(block.elements.end), left + 1);
    const int64_t top = m_rowScale.pixelOf(block.rows.begin);
    const int64_t bottom = std::max(m_rowScale.topEdge(block.rows.end), top + 1);
    return {left, top, right - left, bottom - top};
}

} // namespace shardscope::ui
