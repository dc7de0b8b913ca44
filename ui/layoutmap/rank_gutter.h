// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_side_column.h"

#include <QWidget>

#include <memory>
#include <optional>

namespace shardscope::ui {

/// The worst severity that every row of a map has; marks show what is worse.
int8_t commonSeverity(const MapStack& stack);

/// The fixed column left of the map: rank coordinates or names of files, a health dot per row, the file's
/// name on hover, and the signs that fold sections.
class RankGutter : public MapSideColumn
{
    Q_OBJECT
public:
    explicit RankGutter(MapViewport* viewport, QWidget* parent = nullptr);

    void setHovered(std::optional<MapSource::Point> row);
    [[nodiscard]] QSize sizeHint() const override;

Q_SIGNALS:
    /// A row was clicked.
    void rowClicked(shardscope::ui::MapSource::Point row);
    /// A section's header was clicked.
    void headerClicked(uint32_t section);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    [[nodiscard]] QString tooltipFor(MapSource::Point row) const override;
    void stackChanged() override;

private:
    void paintLabels(QPainter& painter, const MapSource& source) const;
    void paintDots(QPainter& painter, const MapSource& source) const;
    void paintHealth(
        QPainter& painter, const MapSource& source, const MapRange& rows, double top, double height) const;

    std::optional<MapSource::Point> m_hovered;
    int8_t m_commonSeverity = -1; ///< of the healthiest rank
};

} // namespace shardscope::ui
