// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_bands.h"

#include "ui/layoutmap/layout_map_view.h"

#include <QPainter>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kOpacity = 72;
constexpr int kFaintOpacity = 28;
constexpr size_t kMostEdged = 24; ///< more bands have no edges, which would be all that is seen

/// A block of a map in the coordinates of `target`, which contains it; may be out of sight.
QRectF rectIn(const QWidget& target, const LayoutMapView& map, const MapBlock& block)
{
    const MapViewport& view = *map.viewport();
    if (block.section >= view.layout().count())
        return {};
    const ContentRect content = view.layout().rectOf(block);
    const double ratio = view.pixelRatio();
    const QRectF rect(static_cast<double>(content.x - view.x()) / ratio,
        static_cast<double>(content.y - view.y()) / ratio, static_cast<double>(content.width) / ratio,
        static_cast<double>(content.height) / ratio);
    return rect.translated(map.canvas()->mapTo(&target, QPointF(0, 0)));
}

QRectF canvasIn(const QWidget& target, const LayoutMapView& map)
{
    return {map.canvas()->mapTo(&target, QPointF(0, 0)), map.canvas()->size()};
}

/// The columns of `rect` that `canvas` shows; empty if it shows none.
QRectF columnsIn(const QRectF& rect, const QRectF& canvas)
{
    const double left = std::max(rect.left(), canvas.left());
    return {left, canvas.top(), std::min(rect.right(), canvas.right()) - left, canvas.height()};
}

/// Blocks of a row that touch or overlap are one.
std::vector<MapBlock> joined(std::vector<MapBlock> blocks)
{
    const auto rowOf = [](const MapBlock& block) { return std::pair(block.section, block.rows.begin); };
    std::sort(blocks.begin(), blocks.end(), [&](const MapBlock& a, const MapBlock& b) {
        return std::pair(rowOf(a), a.elements.begin) < std::pair(rowOf(b), b.elements.begin);
    });
    std::vector<MapBlock> out;
    for (const MapBlock& block : blocks) {
        if (!out.empty() && rowOf(out.back()) == rowOf(block)
            && block.elements.begin <= out.back().elements.end)
            out.back().elements.end = std::max(out.back().elements.end, block.elements.end);
        else
            out.push_back(block);
    }
    return out;
}

} // namespace

ReshardBands::ReshardBands(QWidget* parent)
    : QWidget(parent)
{
    setObjectName(u"reshardBands"_s);
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAttribute(Qt::WA_NoSystemBackground);
}

void ReshardBands::setFlow(
    const std::optional<MapFlow>& flow, const LayoutMapView* from, const LayoutMapView* to, bool isFaint)
{
    m_flow = flow;
    m_from = from;
    m_to = to;
    m_isFaint = isFaint;
    std::vector<MapBlock> sources;
    std::vector<MapBlock> targets;
    for (const MapFlow::Part& part : flow ? flow->parts : std::vector<MapFlow::Part>()) {
        sources.push_back(part.from);
        targets.push_back(part.to);
    }
    m_fromFrames = joined(std::move(sources));
    m_toFrames = joined(std::move(targets));
    update();
}

QRectF ReshardBands::gap() const
{
    const QWidget& parent = *parentWidget();
    const bool isDown = canvasIn(parent, *m_from).top() < canvasIn(parent, *m_to).top();
    const LayoutMapView& upper = isDown ? *m_from : *m_to;
    const QRectF above = canvasIn(parent, upper);
    // Below it are its title and the ruler.
    const QWidget& pane = *(isDown ? m_to : m_from)->parentWidget();
    const double bottom = pane.mapTo(&parent, QPointF(0, 0)).y();
    return {above.left(), above.bottom(), above.width(), bottom - above.bottom()};
}

void ReshardBands::paintEvent(QPaintEvent* /*event*/)
{
    if (!m_flow || m_from == nullptr || m_to == nullptr)
        return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor line(m_from->canvas()->mapPalette().selection);
    QColor fill = line;
    fill.setAlpha(m_isFaint ? kFaintOpacity : kOpacity);
    const QRectF between = gap();
    const QRectF fromCanvas = canvasIn(*parentWidget(), *m_from);
    const QRectF toCanvas = canvasIn(*parentWidget(), *m_to);
    const bool isDown = fromCanvas.top() < toCanvas.top();
    const auto paintFrames = [&](const std::vector<MapBlock>& blocks, const LayoutMapView& map) {
        painter.setPen(QPen(line, 2));
        painter.setBrush(Qt::NoBrush);
        painter.setClipRect(canvasIn(*parentWidget(), map)); // open where a block continues out of sight
        for (const MapBlock& block : blocks)
            painter.drawRect(rectIn(*parentWidget(), map, block).adjusted(1, 1, -1, -1));
    };
    paintFrames(m_fromFrames, *m_from);
    paintFrames(m_toFrames, *m_to);
    const bool hasEdges = m_flow->parts.size() <= kMostEdged;
    painter.setClipRect(between);
    for (const MapFlow::Part& part : m_flow->parts) {
        const QRectF source = rectIn(*parentWidget(), *m_from, part.from);
        const QRectF target = rectIn(*parentWidget(), *m_to, part.to);
        const QRectF begin = columnsIn(source, fromCanvas);
        const QRectF end = columnsIn(target, toCanvas);
        if (begin.width() <= 0 || end.width() <= 0)
            continue;
        const QRectF& above = isDown ? begin : end;
        const QRectF& below = isDown ? end : begin;
        painter.setPen(Qt::NoPen);
        painter.setBrush(fill);
        painter.drawPolygon(QPolygonF({{above.left(), between.top()}, {above.right(), between.top()},
            {below.right(), between.bottom()}, {below.left(), between.bottom()}}));
        if (!hasEdges)
            continue;
        painter.setPen(QPen(line, 1));
        painter.drawLine(QPointF(above.left(), between.top()), QPointF(below.left(), between.bottom()));
        painter.drawLine(QPointF(above.right(), between.top()), QPointF(below.right(), between.bottom()));
    }
}

} // namespace shardscope::ui
