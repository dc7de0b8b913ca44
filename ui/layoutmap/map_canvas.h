// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_section_headers.h"
#include "ui/layoutmap/tiles/map_painter.h"
#include "ui/layoutmap/tiles/map_tile_cache.h"
#include "ui/layoutmap/tiles/map_tile_loader.h"

#include <QTimer>
#include <QWidget>

namespace shardscope::ui {

/// The picture itself: tiles from the cache, stretched ones while they are missing, marks on top. Blank at
/// most for the one event in which a new map is painted first.
class MapCanvas : public QWidget
{
    Q_OBJECT
public:
    explicit MapCanvas(MapViewport* viewport, QWidget* parent = nullptr);
    ~MapCanvas() override;

    /// Null: an empty map.
    void setStack(MapStackPtr stack);
    void setMapPalette(std::shared_ptr<const MapPalette> palette);
    void setMapStyle(MapStyle style);
    void setMarks(const MapMarks& marks);

    [[nodiscard]] const MapStackPtr& stack() const { return m_stack; }
    [[nodiscard]] const MapViewport& viewport() const { return *m_viewport; }
    /// The first section; null if there is none.
    [[nodiscard]] MapSourcePtr source() const;
    [[nodiscard]] const MapMarks& marks() const { return m_marks; }
    [[nodiscard]] MapStyle mapStyle() const { return m_style; }
    /// Result of the comparison while its colours are shown; else null.
    [[nodiscard]] const DifferenceMarks* shownDifferences() const
    {
        return m_style.mode == MapColourMode::Difference ? m_style.differences.get() : nullptr;
    }
    /// A position of this widget (logical pixels) in the map; empty outside the map.
    [[nodiscard]] std::optional<MapSource::Point> pointAt(const QPointF& position) const;
    [[nodiscard]] QPoint devicePosition(const QPointF& position) const;
    [[nodiscard]] const MapPalette& mapPalette() const { return *m_palette; }
    /// The request that draws a part of the map as shown now.
    [[nodiscard]] MapStackRequest requestFor(const ContentRect& rect) const;
    /// Names, values, rank borders and marks, in device pixels.
    void paintOverlay(QPainter& painter);
    /// Tiles of the visible part, or the small picture of the map, are not drawn yet. Without a visible part
    /// it waits for no tiles.
    [[nodiscard]] bool isDrawing() const
    {
        return (m_missing > 0 && !visibleRegion().isEmpty()) || m_overviewTimer.isActive();
    }
    [[nodiscard]] bool isReadingValues() const { return m_values.isReading(); }

Q_SIGNALS:
    /// Every visible tile is there.
    void complete();
    /// A new small picture of the whole map.
    void overviewChanged(const QImage& overview);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct TileSpan {
        int64_t left = 0;
        int64_t top = 0;
        int64_t right = 0; ///< exclusive
        int64_t bottom = 0;
    };
    [[nodiscard]] MapLayer layer() const;
    [[nodiscard]] MapStackRequest requestFor(const MapTileKey& key) const;
    static TileSpan tilesOf(const ContentRect& rect);
    /// Device pixels of the view.
    [[nodiscard]] QRect tileBox(int64_t x, int64_t y) const;
    /// Paints what a tile that arrived changes.
    void updateTile(const MapTileKey& key);
    void drawTiles(QPainter& painter);
    /// Draws stretched tiles of other zooms in place of missing tiles.
    void drawStretched(QPainter& painter, const MapLayer& wanted);
    void drawLayer(QPainter& painter, const MapLayer& other);
    /// The layout of this map at another zoom.
    [[nodiscard]] MapLayout layoutOf(const MapLayer& other) const;
    /// Where `other` has what the view shows of a section.
    struct Stretched {
        QRectF seen; ///< content pixels of the other zoom
        QPointF ratio; ///< from its pixels to the view's
        QPointF origin; ///< where its left top corner would be in the view
    };
    void drawPart(QPainter& painter, const QImage& image, QPointF origin, const Stretched& stretched) const;
    [[nodiscard]] std::optional<Stretched> stretchedOf(const MapLayout& other, uint32_t section) const;
    /// The tiles of another zoom that the view would show, with their sections. False if `visit` returned
    /// false, or there are too many to be worth it.
    template <class Visit>
    bool forEachTileUnderView(const MapLayer& other, Visit visit) const;
    void drawOverview(QPainter& painter) const;
    [[nodiscard]] bool coversView(const MapLayer& other) const;
    void orderTiles(const MapLayer& wanted);
    void askForOverview();
    void makeOverview();

    MapViewport* m_viewport;
    MapStackPtr m_stack;
    MapSectionHeaders m_headers;
    std::shared_ptr<const MapPalette> m_palette;
    MapStyle m_style;
    MapMarks m_marks;
    MapTileCache m_cache;
    MapTileLoader m_loader;
    MapLabels m_labels;
    MapValues m_values;
    QImage m_overview; ///< the whole map, small: used while tiles are missing
    MapLayout m_overviewLayout;
    QTimer m_overviewTimer;
    uint32_t m_theme = 0;
    uint32_t m_revision = 0;
    int m_missing = 0;
};

} // namespace shardscope::ui
