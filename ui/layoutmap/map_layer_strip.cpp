// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_layer_strip.h"

#include "ui/layoutmap/geometry/map_text.h"

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

namespace {

QString layerText(const LayerBox& box)
{
    return box.first == box.last ? QString::number(box.first)
                                 : QString::number(box.first) + u'–' + QString::number(box.last);
}

/// Whether a box follows another one without a gap, with a later layer.
bool follows(const LayerBox& box, const LayerBox& before)
{
    return box.first > before.last && box.left <= before.right + 2;
}

} // namespace

std::vector<LayerBox> labelledLayers(
    std::vector<LayerBox> layers, double gap, const std::function<double(const QString&)>& widthOf)
{
    std::vector<LayerBox> boxes;
    const auto fits = [&](const LayerBox& box, const QString& text) {
        return widthOf(text) + gap <= box.right - box.left;
    };
    for (LayerBox& layer : layers) {
        const bool joins = !boxes.empty() && boxes.back().text.isEmpty() && follows(layer, boxes.back());
        if (joins) {
            boxes.back().last = layer.last;
            boxes.back().right = layer.right;
        } else {
            boxes.push_back(std::move(layer));
        }
        LayerBox& box = boxes.back();
        if (fits(box, layerText(box)))
            box.text = layerText(box);
    }
    // What is left over at the end of a run joins the box before it.
    for (size_t i = boxes.size(); i-- > 1;) {
        if (boxes[i].text.isEmpty() && !boxes[i - 1].text.isEmpty() && follows(boxes[i], boxes[i - 1])) {
            boxes[i - 1].last = boxes[i].last;
            boxes[i - 1].right = boxes[i].right;
            boxes[i - 1].text
                = fits(boxes[i - 1], layerText(boxes[i - 1])) ? layerText(boxes[i - 1]) : QString();
            boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    for (LayerBox& box : boxes) {
        const QString word
            = (box.first == box.last ? MapLayerStrip::tr("layer %1") : MapLayerStrip::tr("layers %1"))
                  .arg(layerText(box));
        if (!box.text.isEmpty() && fits(box, word))
            box.text = word;
    }
    return boxes;
}

MapLayerStrip::MapLayerStrip(MapViewport* viewport, QWidget* parent)
    : MapPart(viewport, parent)
{
    setObjectName(QStringLiteral("mapLayerStrip"));
    setAccessibleName(tr("Layers"));
    setToolTip(tr("The layers of one row: the one under the mouse, else the selected one, else the "
                  "first one on screen. Its name is at the left."));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void MapLayerStrip::setStack(MapStackPtr stack)
{
    MapPart::setStack(std::move(stack));
    m_row = {};
    Q_EMIT rowTextChanged();
}

void MapLayerStrip::setRow(MapSource::Point row)
{
    if (row.row != m_row.row || row.section != m_row.section) {
        m_row = row;
        update();
        Q_EMIT rowTextChanged();
    }
}

QString MapLayerStrip::rowText() const
{
    if (!m_stack || m_row.section >= m_stack->count() || m_stack->files())
        return {};
    const MapSource& source = m_stack->source(m_row.section);
    const bool ofAll = source.hasEqualRows() && source.rows() > 1;
    if (!ofAll)
        return MapText::rowName(source, m_row.row);
    // Other sections have other layers at the same place.
    return m_stack->count() > 1 ? MapText::shortSectionName(source) : tr("all rows");
}

QSize MapLayerStrip::sizeHint() const
{
    return {200, fontMetrics().height() + 2};
}

std::vector<LayerBox> MapLayerStrip::boxes() const
{
    if (!m_stack || m_row.section >= m_stack->count())
        return {};
    const MapSource& source = m_stack->source(m_row.section);
    if (!source.hasReadNames())
        return {}; // the map is drawn again when a worker has read them
    const MapGeometry& geometry = m_viewport->geometry(m_row.section);
    const double ratio = devicePixelRatioF();
    std::vector<LayerBox> layers;
    const auto runs = layerRuns(
        source, m_row.row, geometry, m_viewport->x(), m_viewport->x() + m_viewport->size().width());
    for (const LayerRun& run : runs) {
        if (run.layer == MapNames::kNoLayer)
            continue;
        const auto toX = [&](uint64_t element) {
            return static_cast<double>(geometry.scale().leftEdge(element) - m_viewport->x()) / ratio;
        };
        layers.push_back({run.layer, run.layer, std::max(toX(run.begin), 0.0),
            std::min(toX(run.end), static_cast<double>(width()))});
    }
    return labelledLayers(
        std::move(layers), 6, [this](const QString& text) { return fontMetrics().horizontalAdvance(text); });
}

void MapLayerStrip::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // without it, the program's
    painter.fillRect(rect(), QColor(m_palette->background));
    const std::vector<LayerBox> layers = boxes();
    const bool isKnown = m_stack && m_row.section < m_stack->count() && !m_stack->files()
        && m_stack->source(m_row.section).hasReadNames();
    if (layers.empty() && isKnown) { // else the name at the left is that of nothing
        painter.setPen(QColor(m_palette->mutedText));
        painter.drawText(rect().adjusted(4, 0, 0, 0), static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
            tr("no layers here"));
    }
    bool odd = false;
    for (const LayerBox& layer : layers) {
        const QRectF box(layer.left, 1, std::max(layer.right - layer.left - 1, 1.0), height() - 2);
        // Neighbours differ by shade, and narrow ones are still told apart.
        painter.fillRect(box, QColor(blended(m_palette->background, m_palette->text, odd ? 40 : 64)));
        odd = !odd;
        painter.setPen(QColor(m_palette->text));
        painter.drawText(box, static_cast<int>(Qt::AlignCenter), layer.text);
    }
}

} // namespace shardscope::ui
