// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_minimap.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr int kStripHeight = 30;
constexpr int kTickHeight = 4;

/// Keeps only pixels worse than the best one.
void keepWhatStandsOut(std::vector<int8_t>& ticks)
{
    const int8_t common
        = ticks.empty() ? int8_t{0} : std::max<int8_t>(*std::min_element(ticks.begin(), ticks.end()), 0);
    for (auto& tick : ticks) {
        tick = tick > common ? tick : int8_t{-1};
    }
}

} // namespace

MapMinimap::MapMinimap(MapViewport* viewport, QWidget* parent)
    : MapPart(viewport, parent)
{
    setObjectName(QStringLiteral("mapMinimap"));
    setAccessibleName(tr("Overview of the whole map"));
    setToolTip(tr("The whole flat buffer. Drag the box to move."));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void MapMinimap::setStack(MapStackPtr stack)
{
    MapPart::setStack(std::move(stack));
    findTicks();
}

void MapMinimap::setOverview(const QImage& overview)
{
    m_overview = overview;
    update();
}

QSize MapMinimap::sizeHint() const
{
    return {200, kStripHeight + 2 * kTickHeight + 4};
}

QRectF MapMinimap::strip() const
{
    return QRectF(rect()).adjusted(0, kTickHeight + 2, 0, -(kTickHeight + 2));
}

QRectF MapMinimap::viewportBox() const
{
    const MapLayout& layout = m_viewport->layout();
    const ContentRect visible = m_viewport->visibleRect();
    const QRectF area = strip();
    const auto part = [](int64_t position, int64_t total) {
        return total == 0 ? 0.0 : static_cast<double>(position) / static_cast<double>(total);
    };
    const double left = area.left() + part(visible.x, layout.contentWidth()) * area.width();
    const double right = area.left() + part(visible.x + visible.width, layout.contentWidth()) * area.width();
    const double top = area.top() + overviewY(visible.y) * area.height();
    const double bottom = area.top() + overviewY(visible.y + visible.height) * area.height();
    // Wide enough to see and to drag.
    const double width = std::max(right - left, 5.0);
    const double height = std::max(bottom - top, 5.0);
    return {std::min(left, area.right() - width), std::min(top, area.bottom() - height), width, height};
}

double MapMinimap::overviewY(int64_t y) const
{
    // The overview shows rows only: without headers, and with folded sections.
    const MapLayout& layout = m_viewport->layout();
    uint64_t above = 0;
    uint64_t all = 0;
    for (uint32_t section = 0; section < layout.count(); ++section) {
        const uint64_t rows = layout.section(section).rows();
        const int64_t inBody = y - layout.bodyTop(section);
        all += rows;
        if (layout.isFolded(section) || inBody >= layout.bodyHeight(section)) {
            above += inBody >= 0 ? rows : 0;
        } else if (inBody > 0) {
            above += std::min<uint64_t>(layout.rowScale().rowAt(inBody), rows);
        }
    }
    return all == 0 ? 0.0 : static_cast<double>(above) / static_cast<double>(all);
}

void MapMinimap::findTicks()
{
    m_columnTicks.clear();
    m_rowTicks.clear();
    if (!m_stack || m_stack->worstSeverity() < 1) {
        return;
    }
    const auto share = [](uint64_t total, int pixel, int pixels) {
        const auto at
            = [&](int p) { return static_cast<uint64_t>(static_cast<long double>(total) * p / pixels); };
        return MapRange{at(pixel), std::max(at(pixel + 1), at(pixel) + 1)};
    };
    m_columnTicks.assign(static_cast<size_t>(std::max(width(), 0)), -1);
    m_rowTicks.assign(kStripHeight, -1);
    uint64_t all = 0;
    for (uint32_t section = 0; section < m_stack->count(); ++section) {
        all += m_stack->source(section).rows();
    }
    const MapLayout layout(m_stack->sizes()); // for the scale of each section
    uint64_t above = 0;
    for (uint32_t section = 0; section < m_stack->count(); ++section) {
        const MapSource& source = m_stack->source(section);
        const auto across = static_cast<uint64_t>(
            std::max(static_cast<double>(layout.columns()) / layout.widening(section), 1.0));
        for (int x = 0; x < width(); ++x) {
            const auto elements = share(across, x, width());
            if (elements.begin >= source.columns()) {
                break; // the section is narrower than the map
            }
            int8_t& tick = m_columnTicks[static_cast<size_t>(x)];
            const uint64_t end = std::min(elements.end, source.columns());
            tick = std::max(tick, source.worstSeverity(0, source.rows(), elements.begin, end));
        }
        for (int y = 0; y < kStripHeight; ++y) {
            const auto rows = share(all, y, kStripHeight);
            const uint64_t begin = std::max(rows.begin, above) - above;
            const uint64_t end = std::min<uint64_t>(rows.end - std::min(rows.end, above), source.rows());
            if (begin < end) {
                int8_t& tick = m_rowTicks[static_cast<size_t>(y)];
                tick = std::max(tick,
                    source.worstSeverity(
                        static_cast<uint32_t>(begin), static_cast<uint32_t>(end), 0, source.columns()));
            }
        }
        above += source.rows();
    }
    keepWhatStandsOut(m_columnTicks);
    keepWhatStandsOut(m_rowTicks);
}

void MapMinimap::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.fillRect(rect(), QColor(m_palette->background));
    if (!m_stack || m_overview.isNull()) {
        return;
    }
    const QRectF area = strip();
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    painter.drawImage(area, m_overview);
    const QRectF box = viewportBox();
    QColor veil(m_palette->background);
    veil.setAlpha(150);
    painter.fillRect(QRectF(area.left(), area.top(), box.left() - area.left(), area.height()), veil);
    painter.fillRect(QRectF(box.right(), area.top(), area.right() - box.right(), area.height()), veil);
    painter.fillRect(QRectF(box.left(), area.top(), box.width(), box.top() - area.top()), veil);
    painter.fillRect(QRectF(box.left(), box.bottom(), box.width(), area.bottom() - box.bottom()), veil);
    painter.setPen(QPen(QColor(m_palette->text), 1));
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
    const auto colourOf
        = [&](int8_t severity) { return QColor(severity >= 2 ? m_palette->error : m_palette->warning); };
    for (size_t x = 0; x < m_columnTicks.size(); ++x) {
        if (m_columnTicks[x] >= 1) {
            painter.fillRect(QRectF(static_cast<double>(x), 0, 1, kTickHeight), colourOf(m_columnTicks[x]));
        }
    }
    for (size_t y = 0; y < m_rowTicks.size(); ++y) {
        if (m_rowTicks[y] >= 1) {
            painter.fillRect(
                QRectF(area.right() - kTickHeight, area.top() + static_cast<double>(y), kTickHeight, 1),
                colourOf(m_rowTicks[y]));
        }
    }
}

void MapMinimap::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    findTicks();
}

void MapMinimap::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) {
        moveTo(event->position());
    }
}

void MapMinimap::mouseMoveEvent(QMouseEvent* event)
{
    if ((event->buttons() & Qt::LeftButton) != 0) {
        moveTo(event->position());
    }
}

void MapMinimap::moveTo(const QPointF& position)
{
    const QRectF area = strip();
    const MapLayout& layout = m_viewport->layout();
    const double x = (position.x() - area.left()) / std::max(area.width(), 1.0);
    const double y = (position.y() - area.top()) / std::max(area.height(), 1.0);
    m_viewport->scrollTo(
        std::llround(x * static_cast<double>(layout.contentWidth())) - m_viewport->size().width() / 2,
        std::llround(y * static_cast<double>(layout.contentHeight())) - m_viewport->size().height() / 2);
}

} // namespace shardscope::ui
