// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_scroll_bar.h"

#include <QPainter>

#include <algorithm>

namespace shardscope::ui {

namespace {

/// Positions beyond this are scaled down: a scroll bar counts in int.
constexpr int64_t kLargestValue = 1'000'000'000;

int64_t scaleFor(int64_t maximum)
{
    return maximum / kLargestValue + 1;
}

} // namespace

MapScrollBar::MapScrollBar(Qt::Orientation orientation, MapViewport* viewport, QWidget* parent)
    : QScrollBar(orientation, parent)
    , m_viewport(viewport)
    , m_palette(std::make_shared<MapPalette>())
{
    const bool vertical = orientation == Qt::Vertical;
    setObjectName(vertical ? QStringLiteral("mapRowScrollBar") : QStringLiteral("mapColumnScrollBar"));
    setAccessibleName(vertical ? tr("Scroll ranks") : tr("Scroll elements"));
    connect(viewport, &MapViewport::changed, this, &MapScrollBar::follow);
    connect(this, &QScrollBar::valueChanged, this, &MapScrollBar::scrollViewport);
}

void MapScrollBar::setSource(MapSourcePtr source)
{
    m_source = std::move(source);
    update();
}

void MapScrollBar::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    m_palette = std::move(palette);
    update();
}

void MapScrollBar::follow()
{
    const bool vertical = orientation() == Qt::Vertical;
    const int64_t maximum = vertical ? m_viewport->maximumY() : m_viewport->maximumX();
    const int64_t scale = scaleFor(maximum);
    const int64_t position = vertical ? m_viewport->y() : m_viewport->x();
    const int page = vertical ? m_viewport->size().height() : m_viewport->size().width();
    m_following = true;
    setRange(0, static_cast<int>(maximum / scale));
    setPageStep(std::max(1, static_cast<int>(page / scale)));
    setSingleStep(std::max(1, static_cast<int>(page / 8 / scale)));
    setValue(static_cast<int>(position / scale));
    m_following = false;
}

void MapScrollBar::scrollViewport(int value)
{
    if (m_following) {
        return;
    }
    if (orientation() == Qt::Vertical) {
        m_viewport->scrollTo(m_viewport->x(), value * scaleFor(m_viewport->maximumY()));
    } else {
        m_viewport->scrollTo(value * scaleFor(m_viewport->maximumX()), m_viewport->y());
    }
}

void MapScrollBar::paintEvent(QPaintEvent* event)
{
    QScrollBar::paintEvent(event);
    if (orientation() != Qt::Vertical || !m_source || m_source->query().rows() < 2) {
        return;
    }
    const auto& query = m_source->query();
    if (query.worstSeverity(0, query.rows(), 0, query.columns()) < 1) {
        return;
    }
    QPainter painter(this);
    // A problem on every rank has no marks.
    int8_t common = 2;
    for (uint32_t row = 0; row < query.rows() && common > 0; ++row) {
        common = std::min(common, query.worstSeverity(row, row + 1, 0, query.columns()));
    }
    // Next to the rows if all of them are visible, else over the whole length.
    const double seen = static_cast<double>(m_viewport->geometry().contentHeight()) / devicePixelRatioF();
    const int pixels
        = m_viewport->maximumY() == 0 ? std::clamp(static_cast<int>(seen), 1, height()) : height();
    for (int y = 0; y < pixels; ++y) {
        const auto begin = static_cast<uint32_t>(
            uint64_t{query.rows()} * static_cast<uint64_t>(y) / static_cast<uint64_t>(pixels));
        const auto end = static_cast<uint32_t>(
            uint64_t{query.rows()} * static_cast<uint64_t>(y + 1) / static_cast<uint64_t>(pixels));
        const int8_t worst = query.worstSeverity(begin, std::max(end, begin + 1), 0, query.columns());
        if (worst >= 1 && worst > common) {
            painter.fillRect(
                width() - 5, y, 4, 2, QColor(worst >= 2 ? m_palette->error : m_palette->warning));
        }
    }
}

} // namespace shardscope::ui
