// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_section_headers.h"

#include "ui/layoutmap/geometry/map_text.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPolygonF>

#include <cmath>

namespace shardscope::ui {

MapSectionHeaders::MapSectionHeaders(const MapViewport* viewport)
    : m_viewport(viewport)
    , m_palette(std::make_shared<MapPalette>())
{
}

void MapSectionHeaders::setStack(MapStackPtr stack)
{
    m_stack = std::move(stack);
    m_facts.assign(m_stack ? m_stack->count() : 0, {});
    m_names.assign(m_facts.size(), {});
}

int MapSectionHeaders::heightFor(const QFont& font, double pixelRatio)
{
    return static_cast<int>(std::lround((QFontMetrics(font).height() + 6) * pixelRatio));
}

template <class Paint>
void MapSectionHeaders::forEachStrip(Paint paint) const
{
    const MapLayout& layout = m_viewport->layout();
    if (layout.headerHeight() == 0)
        return;
    const MapRange sections = m_viewport->visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const auto number = static_cast<uint32_t>(section);
        const auto top = static_cast<int>(layout.headerTop(number) - m_viewport->y());
        if (top + layout.headerHeight() > 0)
            paint(number, top);
    }
}

void MapSectionHeaders::fillStrip(QPainter& painter, const QRect& strip) const
{
    const int line = std::max(1, static_cast<int>(std::lround(m_viewport->pixelRatio())));
    painter.fillRect(strip, QColor(blended(m_palette->background, m_palette->text, 18)));
    painter.fillRect(QRect(strip.left(), strip.top(), strip.width(), line), QColor(m_palette->grid));
}

void MapSectionHeaders::paintBreak(QPainter& painter, const QRect& strip) const
{
    const int tooth = std::max(2, static_cast<int>(std::lround(3 * m_viewport->pixelRatio())));
    QPolygonF line;
    for (int x = strip.left(), i = 0; x <= strip.right() + tooth; x += tooth, ++i)
        line << QPointF(x, strip.bottom() + 1 - (i % 2 == 0 ? 0 : tooth));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(QColor(m_palette->mutedText), m_viewport->pixelRatio()));
    painter.drawPolyline(line);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

int MapSectionHeaders::paintFactor(
    QPainter& painter, const QFontMetrics& metrics, const QRect& strip, int left, double factor) const
{
    const QString text = MapText::factor(factor);
    const int inset = static_cast<int>(std::lround(5 * m_viewport->pixelRatio()));
    const int high = std::min(metrics.height(), strip.height() - 2);
    const QRect plate(left, strip.center().y() - high / 2, metrics.horizontalAdvance(text) + 2 * inset, high);
    painter.fillRect(plate, QColor(m_palette->mutedText));
    painter.setPen(QColor(readableOn(m_palette->mutedText)));
    painter.drawText(plate, static_cast<int>(Qt::AlignCenter), text);
    return plate.width();
}

void MapSectionHeaders::paintTitles(QPainter& painter, const QFont& font, int width)
{
    QFont bold = font;
    bold.setBold(true);
    const QFontMetrics titleMetrics(bold);
    const QFontMetrics metrics(font);
    const int gap = static_cast<int>(std::lround(8 * m_viewport->pixelRatio()));
    forEachStrip([&](uint32_t section, int top) {
        const QRect strip(0, top, width, m_viewport->layout().headerHeight());
        fillStrip(painter, strip);
        const MapSource& source = m_stack->source(section);
        if (m_facts[section].isEmpty()) {
            m_facts[section] = MapText::sectionFacts(source);
            m_names[section] = MapText::sectionName(source);
        }
        const double factor = m_viewport->layout().widening(section);
        const bool enlarged = m_viewport->layout().isEnlarged(section);
        // The factor is never cut: without it the picture would be false.
        const int plate = enlarged ? titleMetrics.horizontalAdvance(MapText::factor(factor)) + 4 * gap : 0;
        const QString title
            = titleMetrics.elidedText(m_names[section], Qt::ElideMiddle, width - 2 * gap - plate);
        painter.setFont(bold);
        painter.setPen(QColor(m_palette->text));
        painter.drawText(
            strip.adjusted(gap, 0, -gap, 0), static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), title);
        int left = titleMetrics.horizontalAdvance(title) + 2 * gap;
        if (enlarged) {
            painter.setFont(font);
            left += paintFactor(painter, metrics, strip, left, factor) + gap;
            paintBreak(painter, strip);
        }
        const QRect rest = strip.adjusted(left + (enlarged ? 0 : gap), 0, -gap, 0);
        if (rest.width() > 4 * gap) {
            painter.setFont(font);
            painter.setPen(QColor(m_palette->mutedText));
            painter.drawText(rest, static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
                metrics.elidedText(m_facts[section], Qt::ElideRight, rest.width()));
        }
    });
}

void MapSectionHeaders::paintStrips(
    QPainter& painter, int width, const std::function<void(const QRect& strip)>& fill) const
{
    forEachStrip([&](uint32_t, int top) {
        const QRect strip(0, top, width, m_viewport->layout().headerHeight());
        fillStrip(painter, strip);
        fill(strip);
    });
}

void MapSectionHeaders::paintSigns(QPainter& painter, int width) const
{
    const double size = 7 * m_viewport->pixelRatio();
    forEachStrip([&](uint32_t section, int top) {
        const QRect strip(0, top, width, m_viewport->layout().headerHeight());
        fillStrip(painter, strip);
        const QPointF centre(strip.left() + 2 * size, strip.center().y() + 0.5);
        const double half = size / 2;
        const QPolygonF sign = m_viewport->layout().isFolded(section)
            ? QPolygonF({centre + QPointF(-half / 2, -half), centre + QPointF(half / 2, 0),
                centre + QPointF(-half / 2, half)})
            : QPolygonF({centre + QPointF(-half, -half / 2), centre + QPointF(half, -half / 2),
                centre + QPointF(0, half / 2)});
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(QColor(m_palette->text));
        painter.drawPolygon(sign);
        painter.setRenderHint(QPainter::Antialiasing, false);
    });
}

} // namespace shardscope::ui
