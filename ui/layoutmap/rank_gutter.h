// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_palette.h"
#include "ui/layoutmap/geometry/map_source.h"
#include "ui/layoutmap/geometry/map_viewport.h"

#include <QWidget>

#include <memory>
#include <optional>

namespace shardscope::ui {

/// Number of rows per label: a power of two, so that labels stay when rows grow.
uint64_t rankLabelStep(double rowHeight, double lineHeight);

/// The fixed column left of the map: rank coordinates, a health dot per rank, the file's name on hover.
class RankGutter : public QWidget
{
    Q_OBJECT
public:
    explicit RankGutter(MapViewport* viewport, QWidget* parent = nullptr);

    void setSource(MapSourcePtr source);
    void setMapPalette(std::shared_ptr<const MapPalette> palette);
    void setHovered(std::optional<uint32_t> row);
    [[nodiscard]] QSize sizeHint() const override;

Q_SIGNALS:
    /// A rank was clicked.
    void rowClicked(uint32_t row);

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] QString labelOf(uint64_t row) const;
    [[nodiscard]] QString tooltipFor(uint32_t row) const;
    [[nodiscard]] std::optional<uint32_t> rowAt(const QPointF& position) const;
    void paintHealth(QPainter& painter, const MapRange& rows, double top, double height) const;

    MapViewport* m_viewport;
    MapSourcePtr m_source;
    std::shared_ptr<const MapPalette> m_palette;
    std::optional<uint32_t> m_hovered;
    int8_t m_commonSeverity = -1; ///< of the healthiest rank
};

} // namespace shardscope::ui
