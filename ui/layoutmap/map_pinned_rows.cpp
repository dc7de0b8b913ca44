// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_pinned_rows.h"

#include "ui/layoutmap/geometry/map_text.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr int kGap = 2; ///< between two pinned rows
constexpr int kEdge = 5; ///< below the last one, with a line in it

} // namespace

MapPinnedRows::MapPinnedRows(MapViewport* viewport, QWidget* parent)
    : MapPart(viewport, parent)
{
    setObjectName(QStringLiteral("mapPinnedRows"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setToolTip(tr("Pinned ranks. Click one, or press P on it, to unpin it."));
    hide();
}

void MapPinnedRows::setStack(MapStackPtr stack)
{
    const bool sameRows = m_stack && stack && m_stack->projection() == stack->projection()
        && m_stack->sizes() == stack->sizes();
    MapPart::setStack(std::move(stack));
    if (!sameRows) {
        m_rows.clear();
    }
    reportHeight();
}

void MapPinnedRows::setMapStyle(MapStyle style)
{
    m_style = std::move(style);
    update();
}

void MapPinnedRows::setLeftEdge(int x)
{
    m_left = x;
    update();
}

bool MapPinnedRows::toggle(MapSource::Point row)
{
    const auto found = std::find_if(m_rows.begin(), m_rows.end(), [&](const MapSource::Point& pinned) {
        return pinned.row == row.row && pinned.section == row.section;
    });
    if (found != m_rows.end()) {
        m_rows.erase(found);
    } else if (m_rows.size() < kMaxRows) {
        m_rows.push_back(row);
    } else {
        return false;
    }
    reportHeight();
    return true;
}

void MapPinnedRows::reportHeight()
{
    QStringList names;
    for (const MapSource::Point& row : m_rows) {
        names.append(labelOf(row));
    }
    setAccessibleName(tr("Pinned ranks: %1").arg(names.join(QStringLiteral(", "))));
    setVisible(!m_rows.empty());
    updateGeometry();
    update();
}

QString MapPinnedRows::labelOf(MapSource::Point row) const
{
    return m_stack ? MapText::rowName(m_stack->sourceAt(row), row.row) : QString();
}

int MapPinnedRows::rowHeight() const
{
    return fontMetrics().height() + 6;
}

QSize MapPinnedRows::sizeHint() const
{
    return {200, static_cast<int>(m_rows.size()) * (rowHeight() + kGap) + kEdge};
}

QImage MapPinnedRows::picture(MapSource::Point row, int width, int height) const
{
    // The map's own scale sideways; upwards as much as one row needs.
    const auto& geometry = m_viewport->geometry(row.section);
    const auto fitting = MapRowScale::fitting(1, height, height);
    const MapGeometry own(geometry.columns(), geometry.rows(), geometry.scale(), fitting);
    MapRenderRequest request{
        .source = m_stack->sourcePtr(row.section), .geometry = own, .style = m_style, .palette = m_palette};
    request.patternScale = std::max(1, static_cast<int>(std::lround(m_viewport->pixelRatio())));
    request.x = m_viewport->x();
    request.y = own.rowScale().topEdge(row.row);
    request.width = static_cast<int>(
        std::clamp<int64_t>(geometry.contentWidth() - m_viewport->x(), 1, std::max(width, 1)));
    request.height = std::min(height, own.rowScale().rowHeight());
    return renderMap(request);
}

void MapPinnedRows::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // without it, the program's
    painter.fillRect(rect(), QColor(m_palette->background));
    if (!m_stack || m_viewport->isEmpty()) {
        return;
    }
    const double ratio = devicePixelRatioF();
    const int height = rowHeight();
    int y = 0;
    for (const MapSource::Point& row : m_rows) {
        painter.setPen(QColor(m_palette->text));
        painter.drawText(QRect(8, y, m_left - 12, height), static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
            labelOf(row));
        QImage image = picture(row, m_viewport->size().width(), static_cast<int>(std::floor(height * ratio)));
        image.setDevicePixelRatio(ratio);
        painter.drawImage(QPointF(m_left, y), image);
        y += height + kGap;
    }
    painter.fillRect(0, this->height() - 3, width(), 1, QColor(m_palette->selection));
}

void MapPinnedRows::mouseReleaseEvent(QMouseEvent* event)
{
    const auto at = static_cast<size_t>(std::max(0, event->pos().y() / (rowHeight() + kGap)));
    if (event->button() == Qt::LeftButton && rect().contains(event->pos()) && at < m_rows.size()) {
        toggle(m_rows[at]);
    }
}

} // namespace shardscope::ui
