// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_geometry.h"

#include <optional>
#include <vector>

namespace shardscope::ui {

/// The sections of a map one below the other, each with a header and a footer of fixed height. Value type;
/// exact, like MapGeometry, in device pixels counted from the content's left top corner.
///
/// All sections have rows of the same height, and sideways one scale: what is half as wide has half as many
/// elements. Sections that would be too narrow to see (kNarrow) are enlarged to the full width, by a factor
/// that stays while the map is zoomed and that views must show. All sections zoom and scroll together.
class MapLayout
{
public:
    struct Size {
        uint64_t columns = 0;
        uint32_t rows = 0;
        /// Elements that would fill the width of this section and of the map, if more than it has itself: two
        /// maps with the same have one scale. Not of the section if it would be too narrow to see then.
        uint64_t fullWidth = 0;
        uint64_t mapWidth = 0;
        bool operator==(const Size&) const = default;
    };
    /// A row or several rows of one section that share a pixel.
    struct Band {
        uint32_t section = 0;
        MapRange rows;
    };

    /// Sections with less than this part of the widest one's elements are enlarged: 1 / this.
    static constexpr uint64_t kNarrow = 8;

    MapLayout() = default;
    explicit MapLayout(const std::vector<Size>& sections);

    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(m_sections.size()); }
    [[nodiscard]] const MapGeometry& section(uint32_t number) const { return m_sections[number].geometry; }
    [[nodiscard]] bool isFolded(uint32_t section) const { return m_sections[section].folded; }
    [[nodiscard]] int headerHeight() const { return m_headerHeight; }
    [[nodiscard]] int footerHeight() const { return m_footerHeight; }
    [[nodiscard]] MapScale scale() const { return m_scale; }
    [[nodiscard]] MapRowScale rowScale() const { return m_rowScale; }
    /// Rows of all sections that are not folded.
    [[nodiscard]] uint64_t rows() const;
    /// Elements that fill the width of the widest section.
    [[nodiscard]] uint64_t columns() const { return m_columns; }

    void setScale(MapScale scale);
    void setRowScale(MapRowScale scale);
    void setFolded(uint32_t section, bool folded);
    /// The space above and below the rows of each section.
    void setMargins(int header, int footer);

    [[nodiscard]] int64_t contentWidth() const;
    [[nodiscard]] int64_t contentHeight() const { return m_height; }
    [[nodiscard]] int64_t headerTop(uint32_t section) const { return m_sections[section].top; }
    [[nodiscard]] int64_t bodyTop(uint32_t section) const { return headerTop(section) + m_headerHeight; }
    /// Pixels of the section's rows; 0 while it is folded.
    [[nodiscard]] int64_t bodyHeight(uint32_t section) const;

    /// The section with this pixel in its header, rows or footer; empty outside the content.
    [[nodiscard]] std::optional<uint32_t> sectionAt(int64_t y) const;
    /// Empty in headers, in footers and outside the content.
    [[nodiscard]] std::optional<Band> bandAt(int64_t y) const;
    /// The rows of one section in the pixels [begin, end).
    [[nodiscard]] MapRange rowsIn(uint32_t section, int64_t begin, int64_t end) const;
    /// Whether a section has a scale of its own, and how many times as wide as in the map's scale its
    /// elements are drawn; else 1.
    [[nodiscard]] bool isEnlarged(uint32_t section) const
    {
        return section < count() && m_sections[section].enlarged;
    }
    [[nodiscard]] bool anyEnlarged() const;
    [[nodiscard]] double widening(uint32_t section) const;
    /// The scale at which a block's section shows `elements` in `pixels`, as the layout's scale.
    [[nodiscard]] MapScale scaleFitting(uint32_t section, uint64_t elements, int64_t pixels) const;
    /// The finest step of the layout's scale that is of use for a section.
    [[nodiscard]] int finestStep(uint32_t section) const;
    /// The pixels a block covers; at least one each way. Empty if its section is folded or it is empty.
    [[nodiscard]] ContentRect rectOf(const MapBlock& block) const;

    bool operator==(const MapLayout&) const = default;

private:
    struct Section {
        MapGeometry geometry;
        uint64_t width = 0; ///< elements that fill the width if it is enlarged
        bool enlarged = false;
        bool folded = false;
        int64_t top = 0;
        bool operator==(const Section&) const = default;
    };
    void place();
    [[nodiscard]] MapScale scaleOf(const Section& section, MapScale scale) const;

    std::vector<Section> m_sections;
    MapScale m_scale;
    MapRowScale m_rowScale;
    int m_headerHeight = 0;
    int m_footerHeight = 0;
    int64_t m_height = 0;
    uint64_t m_columns = 0;
};

} // namespace shardscope::ui
