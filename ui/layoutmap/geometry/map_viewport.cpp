// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_viewport.h"

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

/// Maximum height of a fitted row, in logical pixels, for maps of few ranks.
constexpr int kFittedRowHeight = 64;
constexpr int kFittedSingleRowHeight = 128;

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

void MapViewport::setWhole(uint64_t columns, uint32_t rows)
{
    m_geometry = MapGeometry(columns, rows, {}, {});
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
    if (m_fitted) {
        applyFit();
    }
    clampAndTell();
}

int64_t MapViewport::maximumX() const
{
    return std::max<int64_t>(m_geometry.contentWidth() - m_size.width(), 0);
}

int64_t MapViewport::maximumY() const
{
    return std::max<int64_t>(m_geometry.contentHeight() - m_size.height(), 0);
}

MapBlock MapViewport::whole() const
{
    return {{0, m_geometry.rows()}, {0, m_geometry.columns()}};
}

MapBlock MapViewport::visible() const
{
    return {m_geometry.rowsIn(m_y, m_y + m_size.height()), m_geometry.elementsIn(m_x, m_x + m_size.width())};
}

ContentRect MapViewport::visibleRect() const
{
    return {m_x, m_y, std::min<int64_t>(m_size.width(), m_geometry.contentWidth() - m_x),
        std::min<int64_t>(m_size.height(), m_geometry.contentHeight() - m_y)};
}

ContentRect MapViewport::loadedRect() const
{
    const int64_t left = std::max<int64_t>(m_x - m_size.width(), 0);
    const int64_t top = std::max<int64_t>(m_y - m_size.height(), 0);
    const int64_t right = std::min<int64_t>(m_x + 2 * int64_t{m_size.width()}, m_geometry.contentWidth());
    const int64_t bottom = std::min<int64_t>(m_y + 2 * int64_t{m_size.height()}, m_geometry.contentHeight());
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
        Q_EMIT changed();
    }
}

void MapViewport::zoomColumns(int steps, int anchor)
{
    const auto before = m_geometry.scale();
    const auto fitted = MapScale::fitting(m_geometry.columns(), m_size.width());
    const MapScale after(std::min(before.step() - steps, fitted.step()));
    if (after == before || m_geometry.columns() == 0) {
        return;
    }
    m_geometry.setScale(after);
    m_x = rescaled(m_x, anchor, before.elementsPerPixel() / after.elementsPerPixel());
    m_fitted = false;
    clampAndTell();
}

void MapViewport::zoomRows(int levels, int anchor)
{
    const auto before = m_geometry.rowScale();
    const auto fitted = MapRowScale::fitting(m_geometry.rows(), m_size.height(), 1);
    const MapRowScale after(std::max(before.level() + levels, fitted.level()));
    if (after == before || m_geometry.rows() == 0) {
        return;
    }
    m_geometry.setRowScale(after);
    m_y = rescaled(m_y, anchor, before.rowsPerPixel() / after.rowsPerPixel());
    m_fitted = false;
    clampAndTell();
}

void MapViewport::fit()
{
    m_fitted = true;
    applyFit();
    clampAndTell();
}

void MapViewport::applyFit()
{
    const int tallest = m_geometry.rows() == 1 ? kFittedSingleRowHeight : kFittedRowHeight;
    m_geometry.setScale(MapScale::fitting(m_geometry.columns(), m_size.width()));
    m_geometry.setRowScale(MapRowScale::fitting(
        m_geometry.rows(), m_size.height(), static_cast<int>(std::lround(tallest * m_pixelRatio))));
    m_x = 0;
    m_y = 0;
}

void MapViewport::zoomTo(const MapBlock& block)
{
    if (block.isEmpty()) {
        return;
    }
    // A part of the neighbours stays visible for orientation.
    const int64_t target = std::max<int64_t>(m_size.width() * int64_t{9} / 10, 1);
    m_geometry.setScale(MapScale::fitting(block.elements.size(), target));
    const auto rowsFit = MapRowScale::fitting(static_cast<uint32_t>(block.rows.size()), m_size.height(),
        static_cast<int>(std::lround(kFittedRowHeight * m_pixelRatio)));
    if (m_geometry.rowScale().level() > rowsFit.level()) {
        m_geometry.setRowScale(rowsFit);
    }
    const auto rect = m_geometry.rectOf(block);
    m_x = centred(rect.x, rect.width, m_size.width());
    m_y = centred(rect.y, rect.height, m_size.height());
    m_fitted = false;
    clampAndTell();
}

void MapViewport::centre(const MapBlock& block)
{
    if (!block.isEmpty()) {
        const auto rect = m_geometry.rectOf(block);
        scrollTo(
            rect.x + rect.width / 2 - m_size.width() / 2, rect.y + rect.height / 2 - m_size.height() / 2);
    }
}

void MapViewport::reveal(const MapBlock& block)
{
    if (block.isEmpty()) {
        return;
    }
    const auto rect = m_geometry.rectOf(block);
    const int64_t width = m_size.width();
    const int64_t height = m_size.height();
    const bool seenX = rect.x < m_x + width && rect.x + std::min(rect.width, width) > m_x
        && (rect.x >= m_x || rect.width >= width);
    const bool seenY = rect.y >= m_y && rect.y + std::min(rect.height, height) <= m_y + height;
    scrollTo(
        seenX ? m_x : centred(rect.x, rect.width, width), seenY ? m_y : centred(rect.y, rect.height, height));
}

uint64_t MapViewport::rowUnder(int viewY) const
{
    const auto rows = m_geometry.rowsAt(m_y + viewY);
    if (m_geometry.rows() == 0) {
        return 0;
    }
    return std::min<uint64_t>(rows.begin + rows.size() / 2, m_geometry.rows() - 1);
}

bool MapViewport::isInside(const QPoint& viewPosition) const
{
    return viewPosition.x() >= 0 && viewPosition.y() >= 0
        && m_x + viewPosition.x() < m_geometry.contentWidth()
        && m_y + viewPosition.y() < m_geometry.contentHeight();
}

void MapViewport::clampAndTell()
{
    m_x = std::clamp<int64_t>(m_x, 0, maximumX());
    m_y = std::clamp<int64_t>(m_y, 0, maximumY());
    Q_EMIT changed();
}

} // namespace shardscope::ui
