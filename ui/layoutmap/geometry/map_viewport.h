// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_geometry.h"

#include <QObject>
#include <QPoint>
#include <QSize>

namespace shardscope::ui {

/// What part of the map is on screen: whole ⊇ loaded ⊇ visible, and the selected block.
///
/// Owns the zoom and the scroll position for every child of the map view. Lives on the GUI
/// thread.
class MapViewport : public QObject
{
    Q_OBJECT
public:
    explicit MapViewport(QObject* parent = nullptr);

    /// A new map: fits it and forgets the selection.
    void setWhole(uint64_t columns, uint32_t rows);
    /// The size of the visible part, in device pixels. A fitted map stays fitted.
    void setSize(const QSize& devicePixels, double pixelRatio);

    [[nodiscard]] const MapGeometry& geometry() const { return m_geometry; }
    [[nodiscard]] QSize size() const { return m_size; }
    [[nodiscard]] double pixelRatio() const { return m_pixelRatio; }
    [[nodiscard]] int64_t x() const { return m_x; }
    [[nodiscard]] int64_t y() const { return m_y; }
    [[nodiscard]] int64_t maximumX() const;
    [[nodiscard]] int64_t maximumY() const;

    [[nodiscard]] MapBlock whole() const;
    [[nodiscard]] MapBlock visible() const;
    /// The visible content pixels, and the same with one viewport around it, which is fetched ahead.
    [[nodiscard]] ContentRect visibleRect() const;
    [[nodiscard]] ContentRect loadedRect() const;
    [[nodiscard]] const MapBlock& selected() const { return m_selected; }
    void setSelected(const MapBlock& block);

    void scrollTo(int64_t x, int64_t y);
    void scrollBy(int64_t dx, int64_t dy) { scrollTo(m_x + dx, m_y + dy); }
    /// Zooms by ladder steps (positive: in); the point at `anchor` (device pixels) stays where it is.
    void zoomColumns(int steps, int anchor);
    void zoomRows(int levels, int anchor);

    void fit();
    [[nodiscard]] bool isFitted() const { return m_fitted; }
    /// Fills the view with a block's elements; rows keep their height unless they would not fit.
    void zoomTo(const MapBlock& block);
    /// Scrolls, without zooming, so that the block's middle is the view's.
    void centre(const MapBlock& block);
    /// Scrolls, without zooming, so that the block's beginning is seen; centred when it was off screen.
    void reveal(const MapBlock& block);

    /// Device pixels of the view ↔ content.
    [[nodiscard]] uint64_t elementUnder(int viewX) const { return m_geometry.elementAt(m_x + viewX); }
    [[nodiscard]] uint64_t rowUnder(int viewY) const;
    [[nodiscard]] bool isInside(const QPoint& viewPosition) const;

Q_SIGNALS:
    /// Zoom, scroll position or size changed.
    void changed();
    void selectedChanged();

private:
    void applyFit();
    void clampAndTell();

    MapGeometry m_geometry;
    QSize m_size{1, 1};
    double m_pixelRatio = 1.0;
    int64_t m_x = 0;
    int64_t m_y = 0;
    bool m_fitted = true;
    MapBlock m_selected;
};

} // namespace shardscope::ui
