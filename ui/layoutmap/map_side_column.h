// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_part.h"
#include "ui/layoutmap/map_section_headers.h"

#include <functional>
#include <memory>
#include <optional>

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

protected:
    MapSideColumn(MapViewport* viewport, QWidget* parent);

    bool event(QEvent* event) override;

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
    /// The visible rows that have room for a line of text: every 1, 2, 4, … rows, counted from the first.
    void forEachLabelledRow(const MapSource& source,
        const std::function<void(uint32_t row, double top, double height)>& visit) const;

private:
    [[nodiscard]] double rowHeight() const;

    MapSectionHeaders m_headers;
};

} // namespace shardscope::ui
