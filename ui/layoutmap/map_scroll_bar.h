// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"
#include "ui/layoutmap/geometry/map_viewport.h"
#include "ui/models/map_palette.h"

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

    void setStack(MapStackPtr stack);
    void setMapPalette(std::shared_ptr<const MapPalette> palette);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void follow();
    void scrollViewport(int value);
    [[nodiscard]] int8_t worstIn(int64_t begin, int64_t end) const; ///< content pixels

    MapViewport* m_viewport;
    MapStackPtr m_stack;
    std::shared_ptr<const MapPalette> m_palette;
    int8_t m_commonSeverity = -1; ///< a problem on every rank has no marks
    bool m_following = false;
};

} // namespace shardscope::ui
