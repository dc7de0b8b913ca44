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
    : QWidget(parent)
    , m_viewport(viewport)
    , m_palette(std::make_shared<MapPalette>())
{
    setObjectName(QStringLiteral("mapMinimap"));
    setAccessibleName(tr("Overview of the whole map"));
    setToolTip(tr("The whole flat buffer. Drag the box to move."));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(viewport, &MapViewport::changed, this, qOverload<>(&QWidget::update));
}

void MapMinimap::setSource(MapSourcePtr source)
{
    m_source = std::move(source);
    findTicks();
    update();
}

void MapMinimap::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    m_palette = std::move(palette);
    update();
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
    const auto visible = m_viewport->visible();
    const auto whole = m_viewport->whole();
    const QRectF area = strip();
    const auto part = [](uint64_t position, uint64_t total) {
        return total == 0 ? 0.0 : static_cast<double>(position) / static_cast<double>(total);
    };
    const double left = area.left() + part(visible.elements.begin, whole.elements.end) * area.width();
    const double right = area.left() + part(visible.elements.end, whole.elements.end) * area.width();
    const double top = area.top() + part(visible.rows.begin, whole.rows.end) * area.height();
    const double bottom = area.top() + part(visible.rows.end, whole.rows.end) * area.height();
    // Wide enough to see and to drag.
    const double width = std::max(right - left, 5.0);
    const double height = std::max(bottom - top, 5.0);
    return {std::min(left, area.right() - width), std::min(top, area.bottom() - height), width, height};
}

void MapMinimap::findTicks()
{
    m_columnTicks.clear();
    m_rowTicks.clear();
    if (!m_source
        || m_source->query().worstSeverity(0, m_source->query().rows(), 0, m_source->query().columns()) < 1) {
        return;
    }
    const auto& query = m_source->query();
    const auto share = [](uint64_t total, int pixel, int pixels) {
        const auto at
            = [&](int p) { return static_cast<uint64_t>(static_cast<long double>(total) * p / pixels); };
        return MapRange{at(pixel), std::max(at(pixel + 1), at(pixel) + 1)};
    };
    for (int x = 0; x < width(); ++x) {
        const auto elements = share(query.columns(), x, width());
        m_columnTicks.push_back(query.worstSeverity(0, query.rows(), elements.begin, elements.end));
    }
    for (int y = 0; y < kStripHeight; ++y) {
        const auto rows = share(query.rows(), y, kStripHeight);
        m_rowTicks.push_back(query.worstSeverity(
            static_cast<uint32_t>(rows.begin), static_cast<uint32_t>(rows.end), 0, query.columns()));
    }
    keepWhatStandsOut(m_columnTicks);
    keepWhatStandsOut(m_rowTicks);
}

void MapMinimap::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.fillRect(rect(), QColor(m_palette->background));
    if (!m_source || m_overview.isNull()) {
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
    const auto& geometry = m_viewport->geometry();
    const double x = (position.x() - area.left()) / std::max(area.width(), 1.0);
    const double y = (position.y() - area.top()) / std::max(area.height(), 1.0);
    m_viewport->scrollTo(
        std::llround(x * static_cast<double>(geometry.contentWidth())) - m_viewport->size().width() / 2,
        std::llround(y * static_cast<double>(geometry.contentHeight())) - m_viewport->size().height() / 2);
}

} // namespace shardscope::ui
