// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_bands.h"

#include "ui/layoutmap/layout_map_view.h"

#include <QLabel>
#include <QPainter>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kOpacity = 56;
constexpr int kFaintOpacity = 14;

/// A block of a map in the coordinates of `target`, which contains it, cut to what is on screen; empty
/// outside.
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
    const QRectF seen = rect.intersected(QRectF(map.canvas()->rect()));
    return seen.translated(map.canvas()->mapTo(&target, QPointF(0, 0)));
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
    update();
}

QRegion ReshardBands::texts() const
{
    QRegion out;
    const QWidget& parent = *parentWidget();
    for (const QLabel* label : parent.findChildren<QLabel*>()) {
        if (label->isVisible())
            out += QRect(label->mapTo(&parent, QPoint()), label->size().boundedTo(label->sizeHint()));
    }
    for (const LayoutMapView* map : {m_from, m_to}) {
        const auto* ruler = map->findChild<const QWidget*>(u"mapRuler"_s);
        out += QRect(ruler->mapTo(&parent, QPoint()), ruler->size());
        const MapLayout& layout = map->viewport()->layout();
        const double ratio = map->viewport()->pixelRatio();
        const QRectF canvas(map->canvas()->mapTo(&parent, QPointF()), map->canvas()->size());
        const MapRange sections = map->viewport()->visibleSections();
        for (uint64_t number = sections.begin; number < sections.end; ++number) {
            const auto section = static_cast<uint32_t>(number);
            const int64_t begin = layout.headerTop(section);
            const int64_t end = layout.bodyTop(section);
            const QRectF strip(canvas.left(),
                canvas.top() + static_cast<double>(begin - map->viewport()->y()) / ratio, canvas.width(),
                static_cast<double>(end - begin) / ratio);
            out += strip.intersected(canvas).toAlignedRect();
        }
    }
    return out;
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
    const QRegion lines = QRegion(rect()) - texts();
    for (const MapFlow::Part& part : m_flow->parts) {
        const QRectF source = rectIn(*parentWidget(), *m_from, part.from);
        const QRectF target = rectIn(*parentWidget(), *m_to, part.to);
        if (source.isEmpty() || target.isEmpty())
            continue;
        const bool isDown = source.top() < target.top();
        const double begin = isDown ? source.bottom() : source.top();
        const double end = isDown ? target.top() : target.bottom();
        painter.setPen(Qt::NoPen);
        painter.setBrush(fill);
        painter.drawPolygon(QPolygonF(
            {{source.left(), begin}, {source.right(), begin}, {target.right(), end}, {target.left(), end}}));
        painter.setPen(QPen(line, 1));
        painter.setClipRegion(lines);
        painter.drawLine(QPointF(source.left(), begin), QPointF(target.left(), end));
        painter.drawLine(QPointF(source.right(), begin), QPointF(target.right(), end));
        painter.setClipping(false);
        painter.setPen(QPen(line, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(source.adjusted(1, 1, -1, -1));
        painter.drawRect(target.adjusted(1, 1, -1, -1));
    }
}

} // namespace shardscope::ui
