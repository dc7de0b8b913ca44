// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_part.h"

#include <QImage>

namespace shardscope::ui {

/// The whole unit in a strip, with the visible part as a box to drag and ticks where something is wrong.
///
/// Ticks above the strip mark elements, ticks right of it mark ranks. A problem at every position of an axis
/// has no ticks on that axis, because they would not show a place.
class MapMinimap : public MapPart
{
    Q_OBJECT
public:
    explicit MapMinimap(MapViewport* viewport, QWidget* parent = nullptr);

    void setStack(MapStackPtr stack) override;
    void setOverview(const QImage& overview);
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] QRectF strip() const;
    [[nodiscard]] QRectF viewportBox() const;
    /// The part of all rows above a content pixel, from 0 to 1.
    [[nodiscard]] double overviewY(int64_t y) const;
    void findTicks();
    void moveTo(const QPointF& position);

    QImage m_overview;
    std::vector<int8_t> m_columnTicks; ///< worst finding per pixel of the strip
    std::vector<int8_t> m_rowTicks;
};

} // namespace shardscope::ui
