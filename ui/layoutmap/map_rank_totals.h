// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_side_column.h"

namespace shardscope::ui {

/// The column right of the map: what each rank stores of a section's state, and its padding, with a bar that
/// is full where a rank's buffer has no padding and nothing of it is missing.
class MapRankTotals : public MapSideColumn
{
    Q_OBJECT
public:
    explicit MapRankTotals(MapViewport* viewport, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    [[nodiscard]] QString tooltipFor(MapSource::Point row) const override;

private:
    [[nodiscard]] int paddingWidth() const;
    void paintSection(QPainter& painter, const MapSource& source) const;
    void paintBar(QPainter& painter, const QRectF& box, const MapQuery::Sum& sum) const;
};

} // namespace shardscope::ui
