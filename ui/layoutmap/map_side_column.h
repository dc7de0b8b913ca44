// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_part.h"
#include "ui/layoutmap/map_section_headers.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::ui {

/// Number of rows per label: a power of two, so that labels stay when rows grow.
uint64_t rankLabelStep(double rowHeight, double lineHeight);

/// A column beside the cells of a map, with something about each row and the strips of the sections' headers.
class MapSideColumn : public MapPart
{
    Q_OBJECT
public:
    void setStack(MapStackPtr stack) override;
    void setMapPalette(std::shared_ptr<const MapPalette> palette) override;
    /// Number of the rank whose rows are highlighted (rank_list.h).
    void setSelectedRank(std::optional<uint32_t> rank);

protected:
    MapSideColumn(MapViewport* viewport, QWidget* parent);

    bool event(QEvent* event) override;
    /// Elements that move sideways change nothing here.
    void followViewport() override;

    [[nodiscard]] virtual QString tooltipFor(MapSource::Point row) const = 0;
    /// Another stack was set.
    virtual void stackChanged() { }

    [[nodiscard]] const MapSectionHeaders& headers() const { return m_headers; }
    [[nodiscard]] std::optional<MapSource::Point> rowAt(const QPointF& position) const;
    /// The sections with a header or rows on screen.
    void forEachSection(const std::function<void(const MapSource&)>& visit) const;
    /// The top of a row and the height of rows without the gap between them, in logical pixels.
    [[nodiscard]] double topOf(const MapSource& source, uint64_t row) const;
    [[nodiscard]] double bodyHeight() const;
    /// The row of the selected rank in a section.
    [[nodiscard]] std::optional<uint32_t> selectedRow(const MapSource& source) const;
    /// The visible rows that have room for a line of text: first those with something to say (selected,
    /// findings, missing, padding), then every 1, 2, 4, … rows, counted from the first.
    void forEachLabelledRow(const MapSource& source,
        const std::function<void(uint32_t row, double top, double height)>& visit) const;

private:
    /// What a row has to say, the most urgent highest; 0: nothing.
    enum class Urgency : uint8_t { None, Padding, Warning, Problem, Selected };

    [[nodiscard]] double rowHeight() const;
    [[nodiscard]] Urgency urgencyOf(const MapSource& source, uint32_t row) const;
    /// Rows of a section by urgency, without the selected one; found when they are first asked for.
    [[nodiscard]] const std::vector<std::pair<Urgency, uint32_t>>& notableRows(const MapSource& source) const;

    /// What of the viewport a column depends on, besides which sections are folded.
    struct Rows {
        int64_t y = -1;
        int64_t contentHeight = 0;
        MapRowScale scale;
        int height = 0;
        double pixelRatio = 0;

        bool operator==(const Rows&) const = default;
    };

    MapSectionHeaders m_headers;
    Rows m_shown;
    std::optional<uint32_t> m_selectedRank;
    mutable std::vector<std::optional<std::vector<std::pair<Urgency, uint32_t>>>> m_notable; ///< by section
};

} // namespace shardscope::ui
