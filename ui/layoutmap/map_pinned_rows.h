// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_part.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"

#include <vector>

namespace shardscope::ui {

/// Ranks that stay on top of the map while the others scroll by: at the map's zoom and place, for comparing.
///
/// Takes no space while no rank is pinned. GUI thread; draws one line of the map per rank itself, which takes
/// as long as one line of a tile.
class MapPinnedRows : public MapPart
{
    Q_OBJECT
public:
    static constexpr size_t kMaxRows = 6;

    explicit MapPinnedRows(MapViewport* viewport, QWidget* parent = nullptr);

    /// Another map clears the pins; the same rows of another snapshot or state keep them.
    void setStack(MapStackPtr stack) override;
    void setMapStyle(MapStyle style);
    /// Where the map itself begins. The ranks' names are left of it.
    void setLeftEdge(int x);

    /// Pins or unpins the row; false if there is no space for another.
    bool toggle(MapSource::Point row);
    [[nodiscard]] const std::vector<MapSource::Point>& rows() const { return m_rows; }
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    void reportHeight();
    [[nodiscard]] QString labelOf(MapSource::Point row) const;
    [[nodiscard]] int rowHeight() const;
    [[nodiscard]] QImage picture(MapSource::Point row, int width, int height) const;

    MapStyle m_style;
    std::vector<MapSource::Point> m_rows;
    int m_left = 0;
};

} // namespace shardscope::ui
