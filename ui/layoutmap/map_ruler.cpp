// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_ruler.h"

#include "core/base/text.h"
#include "ui/layoutmap/geometry/map_text.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardscope::ui {

RulerMarks rulerMarks(
    const MapRange& visible, MapScale scale, int apartPixels, RulerUnit unit, uint32_t itemBytes)
{
    RulerMarks marks;
    const double wanted = std::max(scale.elementsPerPixel() * apartPixels, 1.0);
    if (unit == RulerUnit::Elements) {
        uint64_t decade = 1;
        while (static_cast<double>(decade) * 10 <= wanted) {
            decade *= 10;
        }
        for (const uint64_t factor : {1u, 2u, 5u, 10u}) {
            marks.step = decade * factor;
            marks.parts = factor == 2 ? 4 : 5;
            if (static_cast<double>(marks.step) >= wanted) {
                break;
            }
        }
    } else {
        const double bytes = wanted * itemBytes;
        uint64_t step = std::bit_ceil(std::max<uint64_t>(itemBytes, 1));
        while (static_cast<double>(step) < bytes) {
            step *= 2;
        }
        marks.step = step / std::max<uint32_t>(itemBytes, 1);
        marks.parts = 4;
    }
    marks.step = std::max<uint64_t>(marks.step, 1);
    if (marks.step % marks.parts != 0) {
        marks.parts = marks.step % 2 == 0 ? 2 : 1;
    }
    for (uint64_t position = visible.begin / marks.step * marks.step; position < visible.end;
         position += marks.step) {
        marks.positions.push_back(position);
    }
    return marks;
}

QString rulerBytes(uint64_t bytes, uint64_t step)
{
    uint64_t unit = 1; // of formatBytes(), which writes one decimal
    while (bytes / unit >= 1024) {
        unit *= 1024;
    }
    return bytes == 0 || step < unit / 8 ? MapText::count(bytes) + QStringLiteral(" B")
                                         : QString::fromStdString(formatBytes(bytes));
}

namespace {

QString axisTip()
{
    return MapRuler::tr("Position inside a row. Click to switch between elements and bytes.");
}

} // namespace

MapRuler::MapRuler(MapViewport* viewport, QWidget* parent)
    : MapPart(viewport, parent)
{
    setObjectName(QStringLiteral("mapRuler"));
    setAccessibleName(tr("Ruler"));
    setToolTip(axisTip());
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void MapRuler::setSection(uint32_t section, uint32_t itemBytes, const QString& title, const QString& axis)
{
    setToolTip(axis.isEmpty() ? axisTip() : axis + u'\n' + axisTip());
    if (section != m_section || itemBytes != m_itemBytes || title != m_title) {
        m_section = section;
        m_itemBytes = itemBytes;
        m_title = title;
        update();
    }
}

void MapRuler::setLeftEdge(int x)
{
    m_left = x;
    update();
}

void MapRuler::setUnit(RulerUnit unit)
{
    m_unit = unit;
    update();
}

void MapRuler::setHovered(std::optional<uint64_t> element)
{
    if (element != m_hovered) {
        m_hovered = element;
        update();
    }
}

void MapRuler::setMarked(std::vector<MapSource::Point> places)
{
    m_marked = std::move(places);
    update();
}

QSize MapRuler::sizeHint() const
{
    return {200, fontMetrics().height() + 10};
}

QString MapRuler::labelOf(uint64_t element, uint64_t step) const
{
    if (unit() == RulerUnit::Elements) {
        return step >= 1000 ? MapText::shortCount(element) : MapText::count(element);
    }
    return rulerBytes(element * m_itemBytes, step * m_itemBytes);
}

void MapRuler::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // without it, the program's
    painter.fillRect(rect(), QColor(m_palette->background));
    if (m_viewport->geometry(m_section).columns() == 0) {
        return;
    }
    constexpr int kGap = 8;
    painter.setPen(QColor(m_palette->mutedText));
    painter.drawText(QPointF(kGap, fontMetrics().ascent() + 3),
        fontMetrics().elidedText(m_title, Qt::ElideMiddle, m_left - kGap - 2));
    painter.setClipRect(rect().adjusted(m_left, 0, 0, 0));
    painter.translate(m_left, 0);
    paintAxis(painter);
}

void MapRuler::paintAxis(QPainter& painter) const
{
    const double ratio = devicePixelRatioF();
    const int right = width() - m_left;
    const auto& scale = m_viewport->geometry(m_section).scale();
    const auto visible = m_viewport->visible(m_section).elements;
    const auto toX = [&](uint64_t element) {
        return static_cast<double>(scale.leftEdge(element) - m_viewport->x()) / ratio;
    };
    const int apart
        = static_cast<int>(fontMetrics().horizontalAdvance(QStringLiteral("0,000,000,000")) * ratio);
    const auto marks = rulerMarks(visible, scale, apart, unit(), m_itemBytes);
    const int base = height() - 1;
    painter.setPen(QColor(m_palette->grid));
    painter.drawLine(0, base, right, base);
    for (const uint64_t position : marks.positions) {
        const double x = toX(position);
        painter.setPen(QColor(m_palette->mutedText));
        painter.drawLine(QPointF(x, base - 8), QPointF(x, base));
        const QString label = labelOf(position, marks.step);
        if (x >= 0 && x + 4 + fontMetrics().horizontalAdvance(label) <= right) {
            painter.drawText(QPointF(x + 4, fontMetrics().ascent() + 3), label);
        }
        painter.setPen(QColor(m_palette->grid));
        for (uint32_t part = 1; part < marks.parts; ++part) {
            const double small = toX(position + marks.step / marks.parts * part);
            painter.drawLine(QPointF(small, base - 4), QPointF(small, base));
        }
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(m_palette->selection));
    for (const auto& [row, element, section] : m_marked) {
        if (section == m_section && visible.contains(element)) {
            const double x = toX(element);
            painter.drawPolygon(
                QPolygonF({QPointF(x - 5, base - 7), QPointF(x + 5, base - 7), QPointF(x, base)}));
        }
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    if (m_hovered && visible.contains(*m_hovered)) {
        painter.fillRect(QRectF(toX(*m_hovered), 0, 1, height()), QColor(m_palette->text));
    }
}

void MapRuler::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && rect().contains(event->pos())) {
        setUnit(m_unit == RulerUnit::Elements ? RulerUnit::Bytes : RulerUnit::Elements);
    }
}

} // namespace shardscope::ui
