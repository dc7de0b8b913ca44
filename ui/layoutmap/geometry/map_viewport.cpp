// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_viewport.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::ui {

namespace {

/// Maximum height of the rows of a fitted map, in logical pixels: it fills the page where it has few of them.
constexpr int kFittedRowHeight = 512;
/// Of rows around which a block is shown.
constexpr int kZoomedRowHeight = 64;
/// The part of the page that rows of a fitted map take at least, if the headers leave no more: 1 / this.
constexpr int kLeastPartForRows = 2;

int64_t rescaled(int64_t position, int anchor, double ratio)
{
    const auto moved = static_cast<long double>(position + anchor) * static_cast<long double>(ratio);
    return static_cast<int64_t>(std::llround(moved)) - anchor;
}

int64_t centred(int64_t begin, int64_t length, int64_t view)
{
    return length >= view ? begin : begin - (view - length) / 2;
}

} // namespace

MapViewport::MapViewport(QObject* parent)
    : QObject(parent)
{
}

template <class Change>
void MapViewport::change(Change make)
{
    auto next = std::make_shared<MapLayout>(*m_layout);
    make(*next);
    m_layout = std::move(next);
}

void MapViewport::setWhole(const std::vector<MapLayout::Size>& sections)
{
    MapLayout layout(sections);
    layout.setMargins(m_layout->headerHeight(), m_layout->footerHeight());
    m_layout = std::make_shared<const MapLayout>(std::move(layout));
    m_x = 0;
    m_y = 0;
    setSelected({});
    fit();
}

void MapViewport::setSize(const QSize& devicePixels, double pixelRatio)
{
    const QSize size = devicePixels.expandedTo(QSize(1, 1));
    if (size == m_size && pixelRatio == m_pixelRatio) {
        return;
    }
    m_size = size;
    m_pixelRatio = pixelRatio;
    fitAgain();
}

void MapViewport::fitAgain()
{
    const auto block = m_revealed;
    if (m_fitted || block) {
        fit();
    } else {
        clampAndTell();
    }
    if (block && !m_layout->isFolded(block->section)) {
        reveal(*block);
    }
}

void MapViewport::rearrange(MapLayout layout)
{
    m_layout = std::make_shared<const MapLayout>(std::move(layout));
    Q_EMIT rearranged();
    fitAgain();
}

void MapViewport::setMargins(int header, int footer)
{
    if (header == m_layout->headerHeight() && footer == m_layout->footerHeight()) {
        return;
    }
    MapLayout layout = *m_layout;
    layout.setMargins(header, footer);
    rearrange(std::move(layout));
}

void MapViewport::setFolded(uint32_t section, bool folded)
{
    if (section >= m_layout->count() || m_layout->isFolded(section) == folded) {
        return;
    }
    MapLayout layout = *m_layout;
    layout.setFolded(section, folded);
    rearrange(std::move(layout));
}

void MapViewport::toggleAllFolded()
{
    MapLayout layout = *m_layout;
    bool anyFolded = false;
    for (uint32_t section = 0; section < layout.count(); ++section) {
        anyFolded = anyFolded || layout.isFolded(section);
    }
    for (uint32_t section = 0; section < layout.count(); ++section) {
        layout.setFolded(section, !anyFolded);
    }
    rearrange(std::move(layout));
}

const MapGeometry& MapViewport::geometry(uint32_t section) const
{
    static const MapGeometry kNothing;
    return section < m_layout->count() ? m_layout->section(section) : kNothing;
}

int64_t MapViewport::maximumX() const
{
    return std::max<int64_t>(m_layout->contentWidth() - m_size.width(), 0);
}

int64_t MapViewport::maximumY() const
{
    return std::max<int64_t>(m_layout->contentHeight() - m_size.height(), 0);
}

MapBlock MapViewport::whole(uint32_t section) const
{
    return {{0, geometry(section).rows()}, {0, geometry(section).columns()}, section};
}

MapBlock MapViewport::visible(uint32_t section) const
{
    if (section >= m_layout->count()) {
        return {};
    }
    return {m_layout->rowsIn(section, m_y, m_y + m_size.height()),
        geometry(section).elementsIn(m_x, m_x + m_size.width()), section};
}

MapRange MapViewport::visibleSections() const
{
    const auto first = m_layout->sectionAt(m_y);
    if (!first) {
        return {};
    }
    const auto last = m_layout->sectionAt(std::min(m_y + m_size.height(), m_layout->contentHeight()) - 1);
    return {*first, last.value_or(*first) + uint64_t{1}};
}

ContentRect MapViewport::visibleRect() const
{
    return {m_x, m_y, std::min<int64_t>(m_size.width(), m_layout->contentWidth() - m_x),
        std::min<int64_t>(m_size.height(), m_layout->contentHeight() - m_y)};
}

ContentRect MapViewport::loadedRect() const
{
    const int64_t left = std::max<int64_t>(m_x - m_size.width(), 0);
    const int64_t top = std::max<int64_t>(m_y - m_size.height(), 0);
    const int64_t right = std::min<int64_t>(m_x + 2 * int64_t{m_size.width()}, m_layout->contentWidth());
    const int64_t bottom = std::min<int64_t>(m_y + 2 * int64_t{m_size.height()}, m_layout->contentHeight());
    return {left, top, right - left, bottom - top};
}

void MapViewport::setSelected(const MapBlock& block)
{
    if (block == m_selected) {
        return;
    }
    m_selected = block;
    Q_EMIT selectedChanged();
}

void MapViewport::scrollTo(int64_t x, int64_t y)
{
    const int64_t oldX = m_x;
    const int64_t oldY = m_y;
    m_x = std::clamp<int64_t>(x, 0, maximumX());
    m_y = std::clamp<int64_t>(y, 0, maximumY());
    if (m_x != oldX || m_y != oldY) {
        m_fitted = false;
        m_revealed.reset();
        Q_EMIT changed();
    }
}

void MapViewport::zoomColumns(int steps, int anchor, std::optional<uint32_t> section)
{
    const auto before = m_layout->scale();
    const auto fitted = MapScale::fitting(m_layout->columns(), m_size.width());
    int wanted = std::min(before.step() - steps, fitted.step());
    if (section && *section < m_layout->count() && steps > 0) {
        wanted = std::max(wanted, std::min(before.step(), m_layout->finestStep(*section)));
    }
    const MapScale after(wanted);
    if (after == before || m_layout->columns() == 0) {
        return;
    }
    change([after](MapLayout& layout) { layout.setScale(after); });
    m_x = rescaled(m_x, anchor, before.elementsPerPixel() / after.elementsPerPixel());
    m_fitted = false;
    m_revealed.reset();
    clampAndTell();
}

void MapViewport::zoomRows(int levels, int anchor)
{
    const auto before = m_layout->rowScale();
    const MapRowScale after(std::max(before.level() + levels, fittedRows(1).level()));
    if (after == before || m_layout->rows() == 0) {
        return;
    }
    // Headers and footers keep their height; only rows grow.
    const int64_t at = std::clamp<int64_t>(m_y + anchor, 0, m_layout->contentHeight() - 1);
    const uint32_t section = m_layout->sectionAt(at).value_or(0);
    const int64_t inBody = std::max<int64_t>(at - m_layout->bodyTop(section), 0);
    const int64_t above = at - inBody - m_layout->headerTop(section);
    change([after](MapLayout& layout) { layout.setRowScale(after); });
    m_y = m_layout->headerTop(section) + above
        + rescaled(inBody, 0, before.rowsPerPixel() / after.rowsPerPixel()) - anchor;
    m_fitted = false;
    m_revealed.reset();
    clampAndTell();
}

void MapViewport::setLeastRowHeight(int height)
{
    m_leastRowHeight = height;
    fitAgain();
}

void MapViewport::fit()
{
    m_fitted = true;
    m_revealed.reset();
    applyFit();
    clampAndTell();
}

int64_t MapViewport::rowsHeight() const
{
    int64_t height = 0;
    for (uint32_t section = 0; section < m_layout->count(); ++section) {
        height += m_layout->bodyHeight(section);
    }
    return height;
}

MapRowScale MapViewport::fittedRows(int tallest) const
{
    const int64_t headers = m_layout->contentHeight() - rowsHeight();
    const int64_t space = std::max<int64_t>(m_size.height() - headers, m_size.height() / kLeastPartForRows);
    return MapRowScale::fitting(
        static_cast<uint32_t>(std::min<uint64_t>(m_layout->rows(), UINT32_MAX)), space, std::max(tallest, 1));
}

void MapViewport::applyFit()
{
    const auto scale = MapScale::fitting(m_layout->columns(), m_size.width());
    auto rows = fittedRows(static_cast<int>(std::lround(kFittedRowHeight * m_pixelRatio)));
    const auto least = static_cast<int>(std::lround(m_leastRowHeight * m_pixelRatio));
    while (rows.rowHeight() < least && rows.level() < MapRowScale::tallestLevel()) {
        rows = MapRowScale(std::max(rows.level() + 1, 0));
    }
    change([&](MapLayout& layout) {
        layout.setScale(scale);
        layout.setRowScale(rows);
    });
    m_x = 0;
    m_y = 0;
}

void MapViewport::zoomTo(const MapBlock& block)
{
    if (block.isEmpty() || block.section >= m_layout->count()) {
        return;
    }
    // A part of the neighbours stays visible for orientation.
    const int64_t target = std::max<int64_t>(m_size.width() * int64_t{9} / 10, 1);
    const auto scale = m_layout->scaleFitting(block.section, block.elements.size(), target);
    const auto rowsFit = MapRowScale::fitting(static_cast<uint32_t>(block.rows.size()), m_size.height(),
        static_cast<int>(std::lround(kZoomedRowHeight * m_pixelRatio)));
    setFolded(block.section, false);
    change([&](MapLayout& layout) {
        layout.setScale(scale);
        if (layout.rowScale().level() > rowsFit.level()) {
            layout.setRowScale(rowsFit);
        }
    });
    const auto rect = m_layout->rectOf(block);
    m_x = centred(rect.x, rect.width, m_size.width());
    m_y = centred(rect.y, rect.height, m_size.height());
    m_fitted = false;
    m_revealed.reset();
    clampAndTell();
}

void MapViewport::centre(const MapBlock& block)
{
    if (!block.isEmpty()) {
        const auto rect = m_layout->rectOf(block);
        scrollTo(
            rect.x + rect.width / 2 - m_size.width() / 2, rect.y + rect.height / 2 - m_size.height() / 2);
    }
}

void MapViewport::reveal(const MapBlock& block)
{
    if (block.isEmpty() || block.section >= m_layout->count()) {
        return;
    }
    const bool isFitted = m_fitted || m_revealed;
    if (m_size == kNoSize) {
        m_revealed = block;
        return;
    }
    setFolded(block.section, false);
    const auto rect = m_layout->rectOf(block);
    const int64_t width = m_size.width();
    const int64_t height = m_size.height();
    const bool seenX = rect.x < m_x + width && rect.x + std::min(rect.width, width) > m_x
        && (rect.x >= m_x || rect.width >= width);
    const bool seenY = rect.y >= m_y && rect.y + std::min(rect.height, height) <= m_y + height;
    scrollTo(
        seenX ? m_x : centred(rect.x, rect.width, width), seenY ? m_y : centred(rect.y, rect.height, height));
    if (isFitted) {
        m_revealed = block;
    }
}

uint64_t MapViewport::elementUnder(int viewX, uint32_t section) const
{
    return geometry(section).elementAt(m_x + viewX);
}

uint64_t MapViewport::rowUnder(int viewY) const
{
    const auto band = m_layout->bandAt(std::min(m_y + viewY, m_layout->contentHeight() - 1));
    if (!band) {
        return 0;
    }
    return band->rows.begin + band->rows.size() / 2;
}

std::optional<MapSource::Point> MapViewport::pointUnder(const QPoint& viewPosition) const
{
    const auto band = m_layout->bandAt(m_y + viewPosition.y());
    if (viewPosition.y() < 0 || viewPosition.x() < 0 || !band
        || m_x + viewPosition.x() >= geometry(band->section).contentWidth()) {
        return std::nullopt;
    }
    return MapSource::Point{static_cast<uint32_t>(band->rows.begin + band->rows.size() / 2),
        elementUnder(viewPosition.x(), band->section), band->section};
}

std::optional<uint32_t> MapViewport::headerUnder(int viewY) const
{
    const auto section = viewY < 0 ? std::nullopt : m_layout->sectionAt(m_y + viewY);
    return section && m_y + viewY < m_layout->bodyTop(*section) ? section : std::nullopt;
}

void MapViewport::clampAndTell()
{
    m_x = std::clamp<int64_t>(m_x, 0, maximumX());
    m_y = std::clamp<int64_t>(m_y, 0, maximumY());
    Q_EMIT changed();
}

} // namespace shardscope::ui
