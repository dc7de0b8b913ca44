// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_side_column.h"

#include "ui/layoutmap/tiles/map_tile_renderer.h"

#include <QHelpEvent>
#include <QToolTip>

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardscope::ui {

uint64_t rankLabelStep(double rowHeight, double lineHeight)
{
    return std::bit_ceil(static_cast<uint64_t>(std::max(1.0, std::ceil(lineHeight / rowHeight))));
}

MapSideColumn::MapSideColumn(MapViewport* viewport, QWidget* parent)
    : MapPart(viewport, parent)
    , m_headers(viewport)
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
}

void MapSideColumn::setStack(MapStackPtr stack)
{
    MapPart::setStack(std::move(stack));
    stackChanged();
    updateGeometry();
}

void MapSideColumn::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    MapPart::setMapPalette(std::move(palette));
    m_headers.setMapPalette(m_palette);
}

bool MapSideColumn::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const auto row = rowAt(help->pos())) {
            QToolTip::showText(help->globalPos(), tooltipFor(*row), this);
        } else {
            QToolTip::hideText();
        }
        return true;
    }
    return QWidget::event(event);
}

std::optional<MapSource::Point> MapSideColumn::rowAt(const QPointF& position) const
{
    const int y = static_cast<int>(position.y() * devicePixelRatioF());
    return m_stack ? m_viewport->pointUnder({0, y}) : std::nullopt;
}

void MapSideColumn::forEachSection(const std::function<void(const MapSource&)>& visit) const
{
    const MapRange sections = m_stack ? m_viewport->visibleSections() : MapRange{};
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        visit(m_stack->source(static_cast<uint32_t>(section)));
    }
}

double MapSideColumn::topOf(const MapSource& source, uint64_t row) const
{
    const MapLayout& layout = m_viewport->layout();
    const int64_t top = layout.bodyTop(source.number()) + layout.rowScale().topEdge(row) - m_viewport->y();
    return static_cast<double>(top) / devicePixelRatioF();
}

double MapSideColumn::rowHeight() const
{
    return std::max(1.0 / (m_viewport->layout().rowScale().rowsPerPixel() * devicePixelRatioF()), 1e-9);
}

double MapSideColumn::bodyHeight() const
{
    return rowHeight() - rowGap(m_viewport->layout().rowScale().rowHeight()) / devicePixelRatioF();
}

void MapSideColumn::forEachLabelledRow(
    const MapSource& source, const std::function<void(uint32_t row, double top, double height)>& visit) const
{
    const double line = fontMetrics().height();
    const uint64_t step = rankLabelStep(rowHeight(), line);
    const auto visible = m_viewport->visible(source.number()).rows;
    for (uint64_t row = visible.begin / step * step; row < visible.end; row += step) {
        visit(static_cast<uint32_t>(row), topOf(source, row), std::max(bodyHeight(), line - 2));
    }
}

} // namespace shardscope::ui
