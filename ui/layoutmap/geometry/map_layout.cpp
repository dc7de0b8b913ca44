// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_layout.h"

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

MapLayout::MapLayout(const std::vector<Size>& sections)
{
    for (const Size& size : sections)
        m_columns = std::max({m_columns, size.columns, size.fullWidth, size.mapWidth});
    m_sections.reserve(sections.size());
    for (const Size& size : sections) {
        const bool isSeen = size.fullWidth / kNarrow <= size.columns;
        const uint64_t width = isSeen ? std::max(size.columns, size.fullWidth) : size.columns;
        m_sections.push_back({.geometry = MapGeometry(size.columns, size.rows, {}, {}),
            .width = width,
            .enlarged = width > 0 && width < m_columns / kNarrow});
    }
    setScale({});
    place();
}

bool MapLayout::anyEnlarged() const
{
    return std::ranges::any_of(m_sections, &Section::enlarged);
}

double MapLayout::widening(uint32_t section) const
{
    return isEnlarged(section)
        ? static_cast<double>(m_columns) / static_cast<double>(m_sections[section].width)
        : 1.0;
}

MapScale MapLayout::scaleOf(const Section& section, MapScale scale) const
{
    return section.enlarged ? scale.stretched(section.width, m_columns) : scale;
}

uint64_t MapLayout::rows() const
{
    uint64_t rows = 0;
    for (const Section& section : m_sections)
        rows += section.folded ? 0 : section.geometry.rows();
    return rows;
}

void MapLayout::setScale(MapScale scale)
{
    m_scale = scale;
    for (Section& section : m_sections)
        section.geometry.setScale(scaleOf(section, scale));
}

void MapLayout::setRowScale(MapRowScale scale)
{
    m_rowScale = scale;
    for (Section& section : m_sections)
        section.geometry.setRowScale(scale);
    place();
}

void MapLayout::setFolded(uint32_t section, bool folded)
{
    m_sections[section].folded = folded;
    place();
}

void MapLayout::setMargins(int header, int footer)
{
    m_headerHeight = header;
    m_footerHeight = footer;
    place();
}

void MapLayout::place()
{
    m_height = 0;
    for (uint32_t i = 0; i < count(); ++i) {
        m_sections[i].top = m_height;
        m_height += m_headerHeight + bodyHeight(i) + (isFolded(i) ? 0 : m_footerHeight);
    }
}

int64_t MapLayout::contentWidth() const
{
    int64_t width = 0;
    for (const Section& section : m_sections)
        width = std::max(width, section.geometry.contentWidth());
    return width;
}

int64_t MapLayout::bodyHeight(uint32_t section) const
{
    return isFolded(section) ? 0 : m_sections[section].geometry.contentHeight();
}

std::optional<uint32_t> MapLayout::sectionAt(int64_t y) const
{
    if (y < 0 || y >= m_height)
        return std::nullopt;
    const auto after = std::upper_bound(m_sections.begin(), m_sections.end(), y,
        [](int64_t at, const Section& section) { return at < section.top; });
    // Sections without rows and headers have no pixel; the one before has it.
    return static_cast<uint32_t>(after - m_sections.begin()) - 1;
}

std::optional<MapLayout::Band> MapLayout::bandAt(int64_t y) const
{
    const auto section = sectionAt(y);
    if (!section || isFolded(*section) || y < bodyTop(*section))
        return std::nullopt;
    const MapRange rows = this->section(*section).rowsAt(y - bodyTop(*section));
    return rows.isEmpty() ? std::nullopt : std::optional(Band{*section, rows});
}

MapRange MapLayout::rowsIn(uint32_t section, int64_t begin, int64_t end) const
{
    if (isFolded(section))
        return {};
    const int64_t top = bodyTop(section);
    return this->section(section).rowsIn(std::max<int64_t>(begin - top, 0), end - top);
}

MapScale MapLayout::scaleFitting(uint32_t section, uint64_t elements, int64_t pixels) const
{
    MapScale scale = MapScale::fitting(elements, pixels);
    if (!isEnlarged(section))
        return scale;
    // The scale of the map is coarser by the section's factor; rounded to the next rung where it fits.
    scale = MapScale(scale.step() + finestStep(section) - MapScale::kFinest);
    while (
        scaleOf(m_sections[section], scale).leftEdge(elements) > pixels && scale.step() < MapScale::kCoarsest)
        scale = MapScale(scale.step() + 1);
    return scale;
}

int MapLayout::finestStep(uint32_t section) const
{
    return MapScale::kFinest
        + static_cast<int>(std::floor(std::log2(widening(section)) * MapScale::kStepsPerOctave));
}

ContentRect MapLayout::rectOf(const MapBlock& block) const
{
    if (block.section >= count() || isFolded(block.section))
        return {};
    ContentRect rect = section(block.section).rectOf(block);
    if (!block.isEmpty())
        rect.y += bodyTop(block.section);
    return rect;
}

} // namespace shardscope::ui
