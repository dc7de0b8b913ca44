// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_layer_strip.h"

#include <QPainter>

#include <algorithm>

namespace shardscope::ui {

std::vector<LayerRun> layerRuns(
    const MapSource& source, uint32_t row, const MapGeometry& geometry, int64_t left, int64_t right)
{
    std::vector<LayerRun> runs;
    right = std::min(right, geometry.contentWidth());
    for (int64_t pixel = std::max<int64_t>(left, 0); pixel < right;) {
        const MapCell cell = source.cellAt(row, geometry.elementAt(pixel));
        const uint32_t layer = cell.param == kNoParam ? MapNames::kNoLayer : source.layerOf(cell.param);
        // Padding belongs to what it follows.
        const bool joins = !runs.empty() && (cell.param == kNoParam || runs.back().layer == layer);
        if (!runs.empty())
            runs.back().end = joins ? cell.end : cell.begin;
        if (!joins)
            runs.push_back({layer, cell.begin, cell.end});
        pixel = std::max(geometry.scale().leftEdge(cell.end), pixel + 1);
    }
    // The last pixel may show only the first of several cells.
    if (!runs.empty() && right == geometry.contentWidth())
        runs.back().end = source.columns();
    return runs;
}

MapLayerStrip::MapLayerStrip(MapViewport* viewport, QWidget* parent)
    : MapPart(viewport, parent)
{
    setObjectName(QStringLiteral("mapLayerStrip"));
    setAccessibleName(tr("Layers"));
    setToolTip(tr("The layers of the row below the mouse"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void MapLayerStrip::setStack(MapStackPtr stack)
{
    MapPart::setStack(std::move(stack));
    m_row = {};
}

void MapLayerStrip::setRow(MapSource::Point row)
{
    if (row.row != m_row.row || row.section != m_row.section) {
        m_row = row;
        update();
    }
}

QSize MapLayerStrip::sizeHint() const
{
    return {200, fontMetrics().height() + 2};
}

void MapLayerStrip::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.fillRect(rect(), QColor(m_palette->background));
    if (!m_stack || m_row.section >= m_stack->count()) {
        return;
    }
    const MapSource& source = m_stack->source(m_row.section);
    if (!source.hasReadNames()) {
        return; // the map is drawn again when a worker has read them
    }
    const MapGeometry& geometry = m_viewport->geometry(m_row.section);
    const double ratio = devicePixelRatioF();
    const auto runs = layerRuns(
        source, m_row.row, geometry, m_viewport->x(), m_viewport->x() + m_viewport->size().width());
    for (const LayerRun& run : runs) {
        if (run.layer == MapNames::kNoLayer)
            continue;
        const auto toX = [&](uint64_t element) {
            return static_cast<double>(geometry.scale().leftEdge(element) - m_viewport->x()) / ratio;
        };
        const double left = std::max(toX(run.begin), 0.0);
        const double right = std::min(toX(run.end), static_cast<double>(width()));
        const QRectF box(left, 1, std::max(right - left - 1, 1.0), height() - 2);
        // Neighbours differ by shade, and narrow ones are still told apart.
        painter.fillRect(
            box, QColor(blended(m_palette->background, m_palette->text, run.layer % 2 == 0 ? 40 : 64)));
        QString text = tr("layer %1").arg(run.layer);
        if (fontMetrics().horizontalAdvance(text) + 6 > box.width())
            text = QString::number(run.layer);
        if (fontMetrics().horizontalAdvance(text) + 4 <= box.width()) {
            painter.setPen(QColor(m_palette->text));
            painter.drawText(box, static_cast<int>(Qt::AlignCenter), text);
        }
    }
}

} // namespace shardscope::ui
