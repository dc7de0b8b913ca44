// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_scroll_bar.h"

#include "ui/layoutmap/rank_gutter.h"

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

void MapScrollBar::setStack(MapStackPtr stack)
{
    m_stack = std::move(stack);
    m_commonSeverity = m_stack ? commonSeverity(*m_stack) : int8_t{-1};
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
    // Setting a step paints the bar again, even if it is the same step.
    const int pageStep = std::max(1, static_cast<int>(page / scale));
    if (pageStep != this->pageStep()) {
        setPageStep(pageStep);
        setSingleStep(std::max(1, pageStep / 8));
    }
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
    if (orientation() != Qt::Vertical || !m_stack || m_viewport->layout().rows() < 2
        || m_stack->worstSeverity() < 1) {
        return;
    }
    QPainter painter(this);
    // Next to the rows if all of them are visible, else over the whole length.
    const MapLayout& layout = m_viewport->layout();
    const double seen = static_cast<double>(layout.contentHeight()) / devicePixelRatioF();
    const int pixels
        = m_viewport->maximumY() == 0 ? std::clamp(static_cast<int>(seen), 1, height()) : height();
    const auto contentAt = [&](int y) {
        return static_cast<int64_t>(static_cast<double>(layout.contentHeight()) * y / pixels);
    };
    for (int y = 0; y < pixels; ++y) {
        const int8_t worst = worstIn(contentAt(y), std::max(contentAt(y + 1), contentAt(y) + 1));
        if (worst >= 1 && worst > m_commonSeverity) {
            painter.fillRect(
                width() - 5, y, 4, 2, QColor(worst >= 2 ? m_palette->error : m_palette->warning));
        }
    }
}

int8_t MapScrollBar::worstIn(int64_t begin, int64_t end) const
{
    const MapLayout& layout = m_viewport->layout();
    const auto first = layout.sectionAt(begin);
    const auto last = layout.sectionAt(end - 1);
    int8_t worst = -1;
    for (uint32_t section = first.value_or(1); first && section <= last.value_or(*first); ++section) {
        const MapSource& source = m_stack->source(section);
        const auto rows = layout.rowsIn(section, begin, end);
        // A folded section has its marks on its header.
        const MapRange asked = layout.isFolded(section) ? MapRange{0, source.rows()} : rows;
        if (!asked.isEmpty()) {
            worst = std::max(worst,
                source.worstSeverity(static_cast<uint32_t>(asked.begin), static_cast<uint32_t>(asked.end), 0,
                    source.columns()));
        }
    }
    return worst;
}

} // namespace shardscope::ui
