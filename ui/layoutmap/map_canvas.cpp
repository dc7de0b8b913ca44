// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_canvas.h"

#include "ui/layoutmap/map_accessible.h"
#include "ui/widgets/focus_ring.h"

#include <QAccessible>
#include <QPaintEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr int kOverviewWidth = 1200;
constexpr int kOverviewHeight = 48;
/// Each section has at least one row of pixels in the overview; what is below this is left out.
constexpr int kTallestOverview = 4096;
/// Tiles fetched ahead together with the visible ones take at most about half of the cache.
constexpr size_t kMaxTilesWanted = 240;
constexpr size_t kMaxZoomsTried = 24;
constexpr int64_t kMaxTilesStretched = 200;

int64_t floorTile(double pixel)
{
    return static_cast<int64_t>(std::floor(pixel / kTilePixels));
}

} // namespace

MapCanvas::MapCanvas(MapViewport* viewport, QWidget* parent)
    : QWidget(parent)
    , m_viewport(viewport)
    , m_headers(viewport)
    , m_palette(std::make_shared<MapPalette>())
{
    installMapAccessible();
    setObjectName(QStringLiteral("mapCanvas"));
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setProperty(kShowsFocusFrame, true);
    setMinimumSize(120, 60);
    connect(viewport, &MapViewport::changed, this, qOverload<>(&QWidget::update));
    connect(viewport, &MapViewport::rearranged, this, [this] {
        ++m_revision;
        m_cache.clear();
    });
    connect(viewport, &MapViewport::selectedChanged, this, [this] {
        update();
        if (QAccessible::isActive()) {
            QAccessibleEvent selected(this, QAccessible::SelectionWithin);
            QAccessible::updateAccessibility(&selected);
        }
    });
    m_overviewTimer.setSingleShot(true);
    connect(&m_overviewTimer, &QTimer::timeout, this, &MapCanvas::makeOverview);
    connect(&m_values, &MapValues::arrived, this, qOverload<>(&QWidget::update));
    connect(&m_loader, &MapTileLoader::tileReady, this, [this](const MapTileKey& key, const QImage& tile) {
        m_cache.insert(key, tile);
        updateTile(key);
    });
}

MapCanvas::~MapCanvas()
{
    m_loader.stop();
}

MapSourcePtr MapCanvas::source() const
{
    return m_stack && m_stack->count() > 0 ? m_stack->sourcePtr(0) : nullptr;
}

void MapCanvas::setStack(MapStackPtr stack)
{
    m_stack = std::move(stack);
    m_headers.setStack(m_stack);
    m_marks.hovered.reset();
    m_marks.pinned.reset();
    ++m_revision;
    m_labels.clear();
    m_values.setStack(m_stack);
    m_cache.clear();
    m_overview = {};
    askForOverview();
    update();
}

void MapCanvas::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    m_palette = std::move(palette);
    m_headers.setMapPalette(m_palette);
    ++m_theme;
    askForOverview();
    update();
}

void MapCanvas::setMapStyle(MapStyle style)
{
    if (style == m_style) {
        return;
    }
    // The mode is part of a tile's key; a change of dimming is another revision.
    if (style.dimmedClasses != m_style.dimmedClasses || style.lit != m_style.lit
        || style.differences != m_style.differences) {
        ++m_revision;
    }
    m_style = std::move(style);
    askForOverview();
    update();
}

void MapCanvas::setMarks(const MapMarks& marks)
{
    const bool moved = marks.pinned && marks.pinned != m_marks.pinned;
    m_marks = marks;
    m_marks.hasFocus = hasFocus();
    update();
    if (moved && hasFocus() && QAccessible::isActive()) {
        QAccessibleEvent focused(this, QAccessible::Focus);
        focused.setChild(m_stack ? static_cast<int>(m_stack->count()) : 0);
        QAccessible::updateAccessibility(&focused);
    }
}

void MapCanvas::askForOverview()
{
    m_overviewTimer.start(); // in an event of its own, once for several changes
}

void MapCanvas::makeOverview()
{
    m_overviewTimer.stop();
    if (m_stack && m_stack->count() > 0) {
        m_overviewLayout = MapLayout(m_stack->sizes());
        const auto rows = static_cast<uint32_t>(std::min<uint64_t>(m_overviewLayout.rows(), UINT32_MAX));
        m_overviewLayout.setScale(MapScale::fitting(m_overviewLayout.columns(), kOverviewWidth));
        m_overviewLayout.setRowScale(MapRowScale::fitting(rows, kOverviewHeight, kOverviewHeight));
        MapStackRequest request{.stack = m_stack,
            .layout = std::make_shared<const MapLayout>(m_overviewLayout),
            .style = m_style,
            .palette = m_palette};
        request.width = static_cast<int>(m_overviewLayout.contentWidth());
        request.height
            = static_cast<int>(std::min<int64_t>(m_overviewLayout.contentHeight(), kTallestOverview));
        if (request.width > 0 && request.height > 0)
            m_overview = renderMap(request);
    }
    if (m_missing > 0)
        update(); // it is shown in place of what is missing
    Q_EMIT overviewChanged(m_overview);
}

MapLayer MapCanvas::layer() const
{
    return {.projection = m_stack->projection(),
        .mode = m_style.mode,
        .scale = m_viewport->layout().scale(),
        .rowScale = m_viewport->layout().rowScale(),
        .theme = m_theme,
        .revision = m_revision};
}

MapStackRequest MapCanvas::requestFor(const MapTileKey& key) const
{
    return {.stack = m_stack,
        .layout = m_viewport->sharedLayout(),
        .style = m_style,
        .palette = m_palette,
        .patternScale = std::max(1, static_cast<int>(std::lround(m_viewport->pixelRatio()))),
        .x = key.x * kTilePixels,
        .y = key.y * kTilePixels};
}

MapStackRequest MapCanvas::requestFor(const ContentRect& rect) const
{
    MapStackRequest request = requestFor(MapTileKey{});
    request.x = rect.x;
    request.y = rect.y;
    request.width = static_cast<int>(rect.width);
    request.height = static_cast<int>(rect.height);
    return request;
}

MapCanvas::TileSpan MapCanvas::tilesOf(const ContentRect& rect)
{
    return {rect.x / kTilePixels, rect.y / kTilePixels, (rect.x + rect.width + kTilePixels - 1) / kTilePixels,
        (rect.y + rect.height + kTilePixels - 1) / kTilePixels};
}

void MapCanvas::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // without it, the program's
    if (!m_stack || m_viewport->isEmpty()) {
        m_missing = 0;
        painter.fillRect(rect(), QColor(m_palette->background));
        return;
    }
    const double ratio = devicePixelRatioF();
    painter.scale(1 / ratio, 1 / ratio);
    const bool wasIncomplete = m_missing != 0;
    drawTiles(painter);
    paintOverlay(painter);
    if (wasIncomplete && m_missing == 0) {
        QMetaObject::invokeMethod(this, &MapCanvas::complete, Qt::QueuedConnection);
    }
}

void MapCanvas::paintOverlay(QPainter& painter)
{
    const double ratio = m_viewport->pixelRatio();
    QFont font = this->font();
    font.setPixelSize(std::max(8, static_cast<int>(std::lround(QFontInfo(font).pixelSize() * 0.88 * ratio))));
    m_labels.setFont(font);
    const MapPainter overlay(*m_stack, *m_viewport, *m_palette, m_style);
    overlay.paintLabels(painter, m_labels);
    overlay.paintEnds(painter, font);
    overlay.paintValues(painter, font, m_values);
    overlay.paintRankBorders(painter, font);
    m_headers.paintTitles(painter, font, m_viewport->size().width());
    overlay.paintMarks(painter, m_marks);
}

QRect MapCanvas::tileBox(int64_t x, int64_t y) const
{
    return {static_cast<int>(x * kTilePixels - m_viewport->x()),
        static_cast<int>(y * kTilePixels - m_viewport->y()), kTilePixels, kTilePixels};
}

void MapCanvas::updateTile(const MapTileKey& key)
{
    if (!m_stack || key.layer != layer())
        return; // the next paint may stretch it
    const auto seen = tilesOf(m_viewport->visibleRect());
    if (key.x < seen.left || key.x >= seen.right || key.y < seen.top || key.y >= seen.bottom)
        return;
    const double ratio = devicePixelRatioF();
    const QRect box = tileBox(key.x, key.y);
    update(QRectF(box.x() / ratio, box.y() / ratio, box.width() / ratio, box.height() / ratio)
               .toAlignedRect()
               .adjusted(-1, -1, 1, 1));
}

void MapCanvas::drawTiles(QPainter& painter)
{
    const MapLayer wanted = layer();
    const auto span = tilesOf(m_viewport->visibleRect());
    m_missing = 0;
    QRegion uncovered(QRect(QPoint(), m_viewport->size()));
    for (int64_t y = span.top; y < span.bottom; ++y) {
        for (int64_t x = span.left; x < span.right; ++x) {
            if (m_cache.contains({wanted, x, y})) {
                uncovered -= tileBox(x, y);
            } else {
                ++m_missing;
            }
        }
    }
    if (!uncovered.isEmpty()) {
        // A rectangle: images are stretched several times slower inside of other shapes.
        painter.setClipRect(uncovered.boundingRect());
        painter.fillRect(uncovered.boundingRect(), QColor(m_palette->background));
        if (m_missing > 0) {
            drawStretched(painter, wanted);
        }
        painter.setClipping(false);
    }
    for (int64_t y = span.top; y < span.bottom; ++y) {
        for (int64_t x = span.left; x < span.right; ++x) {
            if (const auto* tile = m_cache.find({wanted, x, y})) {
                painter.drawImage(tileBox(x, y).topLeft(), *tile);
            }
        }
    }
    orderTiles(wanted);
}

void MapCanvas::drawStretched(QPainter& painter, const MapLayer& wanted)
{
    // From below: the nearest zoom that covers everything, or the overview; then the nearest one, full of
    // holes or not.
    const auto others = m_cache.layersNear(wanted);
    const auto tried = std::min(others.size(), kMaxZoomsTried);
    const auto full = std::find_if(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(tried),
        [&](const MapLayer& other) { return coversView(other); });
    if (full == others.begin() + static_cast<std::ptrdiff_t>(tried)) {
        drawOverview(painter); // of a new map, in the next event
    } else {
        drawLayer(painter, *full);
    }
    if (tried > 0 && full != others.begin()) {
        drawLayer(painter, others.front());
    }
}

MapLayout MapCanvas::layoutOf(const MapLayer& other) const
{
    MapLayout layout = m_viewport->layout();
    layout.setScale(other.scale);
    layout.setRowScale(other.rowScale);
    return layout;
}

std::optional<MapCanvas::Stretched> MapCanvas::stretchedOf(const MapLayout& other, uint32_t section) const
{
    const MapLayout& layout = m_viewport->layout();
    const auto top = static_cast<double>(layout.bodyTop(section) - m_viewport->y());
    const QRectF body(0, top, static_cast<double>(m_viewport->size().width()),
        static_cast<double>(layout.bodyHeight(section)));
    const QRectF shown = body.intersected(QRectF(QPointF(0, 0), QSizeF(m_viewport->size())));
    if (shown.isEmpty()) {
        return std::nullopt;
    }
    Stretched out;
    out.ratio = {other.section(section).scale().elementsPerPixel()
            / layout.section(section).scale().elementsPerPixel(),
        other.rowScale().rowsPerPixel() / layout.rowScale().rowsPerPixel()};
    out.origin = {static_cast<double>(-m_viewport->x()),
        top - static_cast<double>(other.bodyTop(section)) * out.ratio.y()};
    out.seen = QRectF((shown.left() - out.origin.x()) / out.ratio.x(),
        (shown.top() - out.origin.y()) / out.ratio.y(), shown.width() / out.ratio.x(),
        shown.height() / out.ratio.y());
    // What there is of the section at the other zoom.
    out.seen = out.seen.intersected(QRectF(0, static_cast<double>(other.bodyTop(section)),
        static_cast<double>(other.section(section).contentWidth()),
        static_cast<double>(other.bodyHeight(section))));
    return out;
}

template <class Visit>
bool MapCanvas::forEachTileUnderView(const MapLayer& other, Visit visit) const
{
    const MapLayout layout = layoutOf(other);
    const MapRange sections = m_viewport->visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const auto part = stretchedOf(layout, static_cast<uint32_t>(section));
        if (!part) {
            continue;
        }
        const TileSpan span{floorTile(part->seen.left()), floorTile(part->seen.top()),
            floorTile(part->seen.right() - 0.01) + 1, floorTile(part->seen.bottom() - 0.01) + 1};
        if ((span.right - span.left) * (span.bottom - span.top) > kMaxTilesStretched) {
            return false;
        }
        for (int64_t y = span.top; y < span.bottom; ++y) {
            for (int64_t x = span.left; x < span.right; ++x) {
                if (!visit(MapTileKey{other, x, y}, *part)) {
                    return false;
                }
            }
        }
    }
    return true;
}

bool MapCanvas::coversView(const MapLayer& other) const
{
    return forEachTileUnderView(
        other, [&](const MapTileKey& key, const Stretched&) { return m_cache.contains(key); });
}

void MapCanvas::drawLayer(QPainter& painter, const MapLayer& other)
{
    forEachTileUnderView(other, [&](const MapTileKey& key, const Stretched& part) {
        if (const auto* tile = m_cache.find(key)) {
            drawPart(painter, *tile,
                {static_cast<double>(key.x * kTilePixels), static_cast<double>(key.y * kTilePixels)}, part);
        }
        return true;
    });
}

void MapCanvas::drawOverview(QPainter& painter) const
{
    if (m_overview.isNull())
        return;
    const MapRange sections = m_viewport->visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        if (const auto part = stretchedOf(m_overviewLayout, static_cast<uint32_t>(section))) {
            drawPart(painter, m_overview, {0, 0}, *part);
        }
    }
}

void MapCanvas::drawPart(
    QPainter& painter, const QImage& image, QPointF origin, const Stretched& stretched) const
{
    // The part of the image that the section shows, and where.
    const QRectF part = QRectF(origin, QSizeF(image.size())).intersected(stretched.seen);
    if (!part.isEmpty()) {
        const QRectF place(stretched.origin.x() + part.x() * stretched.ratio.x(),
            stretched.origin.y() + part.y() * stretched.ratio.y(), part.width() * stretched.ratio.x(),
            part.height() * stretched.ratio.y());
        painter.drawImage(place, image, part.translated(-origin));
    }
}

void MapCanvas::orderTiles(const MapLayer& wanted)
{
    std::vector<MapTileLoader::Order> orders;
    const auto add = [&](int64_t x, int64_t y) {
        const MapTileKey key{wanted, x, y};
        if (orders.size() < kMaxTilesWanted && !m_cache.contains(key)) {
            orders.push_back({key, requestFor(key)});
        }
    };
    const auto seen = tilesOf(m_viewport->visibleRect());
    const auto around = tilesOf(m_viewport->loadedRect());
    for (int64_t y = seen.top; y < seen.bottom; ++y) {
        for (int64_t x = seen.left; x < seen.right; ++x) {
            add(x, y);
        }
    }
    size_t planned = static_cast<size_t>((seen.right - seen.left) * (seen.bottom - seen.top));
    for (int64_t ring = 1; planned < kMaxTilesWanted; ++ring) {
        const int64_t top = std::max(seen.top - ring, around.top);
        const int64_t bottom = std::min(seen.bottom + ring, around.bottom);
        const int64_t left = std::max(seen.left - ring, around.left);
        const int64_t right = std::min(seen.right + ring, around.right);
        const bool outside = seen.top - ring < around.top && seen.bottom + ring > around.bottom
            && seen.left - ring < around.left && seen.right + ring > around.right;
        if (outside) {
            break;
        }
        for (int64_t y = top; y < bottom; ++y) {
            for (int64_t x = left; x < right; ++x) {
                const bool onRing = y == seen.top - ring || y == seen.bottom + ring - 1
                    || x == seen.left - ring || x == seen.right + ring - 1;
                if (onRing && planned++ < kMaxTilesWanted) {
                    add(x, y);
                }
            }
        }
    }
    m_loader.want(std::move(orders));
}

std::optional<MapSource::Point> MapCanvas::pointAt(const QPointF& position) const
{
    return m_stack ? m_viewport->pointUnder(devicePosition(position)) : std::nullopt;
}

QPoint MapCanvas::devicePosition(const QPointF& position) const
{
    const double ratio = devicePixelRatioF();
    return {static_cast<int>(std::floor(position.x() * ratio)),
        static_cast<int>(std::floor(position.y() * ratio))};
}

void MapCanvas::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    const double ratio = devicePixelRatioF();
    m_viewport->setSize(
        {static_cast<int>(std::lround(width() * ratio)), static_cast<int>(std::lround(height() * ratio))},
        ratio);
}

void MapCanvas::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    m_marks.hasFocus = true;
    update();
}

void MapCanvas::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    m_marks.hasFocus = false;
    update();
}

} // namespace shardscope::ui
