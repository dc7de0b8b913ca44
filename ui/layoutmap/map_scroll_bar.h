// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_palette.h"
#include "ui/layoutmap/geometry/map_source.h"
#include "ui/layoutmap/geometry/map_viewport.h"

#include <QScrollBar>

#include <memory>
#include <vector>

namespace shardscope::ui {

/// A scroll bar over 64-bit content pixels. The vertical one carries a mark for every rank with a finding, so
/// that problems far outside the view are seen.
class MapScrollBar : public QScrollBar
{
    Q_OBJECT
public:
    MapScrollBar(Qt::Orientation orientation, MapViewport* viewport, QWidget* parent = nullptr);

    void setSource(MapSourcePtr source);
    void setMapPalette(std::shared_ptr<const MapPalette> palette);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void follow();
    void scrollViewport(int value);

    MapViewport* m_viewport;
    MapSourcePtr m_source;
    std::shared_ptr<const MapPalette> m_palette;
    bool m_following = false;
};

} // namespace shardscope::ui
