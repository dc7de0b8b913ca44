// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_side_column.h"

#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/text/rank_list.h"

#include <QHelpEvent>
#include <QToolTip>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <set>

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
    connect(viewport, &MapViewport::rearranged, this, qOverload<>(&QWidget::update));
}

void MapSideColumn::followViewport()
{
    const MapLayout& layout = m_viewport->layout();
    const Rows rows{.y = m_viewport->y(),
        .contentHeight = layout.contentHeight(),
        .scale = layout.rowScale(),
        .height = m_viewport->size().height(),
        .pixelRatio = m_viewport->pixelRatio()};
    if (rows != m_shown) {
        m_shown = rows;
        update();
    }
}

void MapSideColumn::setStack(MapStackPtr stack)
{
    MapPart::setStack(std::move(stack));
    m_notable.assign(m_stack ? m_stack->count() : 0, std::nullopt);
    stackChanged();
    updateGeometry();
}

void MapSideColumn::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    MapPart::setMapPalette(std::move(palette));
    m_headers.setMapPalette(m_palette);
}

void MapSideColumn::setSelectedRank(std::optional<uint32_t> rank)
{
    if (rank != m_selectedRank) {
        m_selectedRank = rank;
        update();
    }
}

std::optional<uint32_t> MapSideColumn::selectedRow(const MapSource& source) const
{
    return m_selectedRank && !source.files() && source.projection() == MapQuery::Projection::Partitions
        ? rowOfRank(source.checkpoint(), source.unit(), *m_selectedRank)
        : std::nullopt;
}

MapSideColumn::Urgency MapSideColumn::urgencyOf(const MapSource& source, uint32_t row) const
{
    const int8_t worst = source.worstSeverity(row);
    if (worst >= 2 || source.anyMissing(row, row + 1)) {
        return Urgency::Problem;
    }
    if (worst == 1) {
        return Urgency::Warning;
    }
    return !source.files() && source.hasPadding(row) ? Urgency::Padding : Urgency::None;
}

const std::vector<std::pair<MapSideColumn::Urgency, uint32_t>>& MapSideColumn::notableRows(
    const MapSource& source) const
{
    auto& found = m_notable[source.number()];
    if (!found) {
        found.emplace();
        for (uint32_t row = 0; row < source.rows(); ++row) {
            if (const Urgency urgency = urgencyOf(source, row); urgency != Urgency::None) {
                found->emplace_back(urgency, row);
            }
        }
        std::stable_sort(
            found->begin(), found->end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    }
    return *found;
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
    const auto show = [&](uint64_t row) {
        visit(static_cast<uint32_t>(row), topOf(source, row), std::max(bodyHeight(), line - 2));
    };
    if (step == 1) {
        for (uint64_t row = visible.begin; row < visible.end; ++row) {
            show(row);
        }
        return;
    }
    // Lines that do not touch, by the pixel at which they begin.
    std::set<double> taken;
    // The next section would hide a label that begins at its last thin row.
    const double lowest = std::max(topOf(source, source.rows()) - line + 2, topOf(source, 0));
    const auto place = [&](uint64_t row) {
        const double top = std::min(topOf(source, row), lowest);
        const auto next = taken.lower_bound(top);
        const bool free = (next == taken.end() || *next - top >= line - 1)
            && (next == taken.begin() || top - *std::prev(next) >= line - 1);
        if (free && visible.contains(row)) {
            taken.insert(top);
            visit(static_cast<uint32_t>(row), top, std::max(bodyHeight(), line - 2));
        }
    };
    if (const auto selected = selectedRow(source)) {
        place(*selected);
    }
    const auto most = static_cast<size_t>(height() / std::max(line, 1.0)) + 2;
    for (const auto& [urgency, row] : notableRows(source)) {
        if (taken.size() > most) {
            break;
        }
        place(row);
    }
    for (uint64_t row = visible.begin / step * step; row < visible.end; row += step) {
        place(row);
    }
}

} // namespace shardscope::ui
