// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_section_headers.h"

#include <QWidget>

#include <memory>

namespace shardscope::ui {

/// The column right of the map: what each rank stores of a section's state, and its padding, with a bar that
/// is full where a rank's buffer has no padding and nothing of it is missing.
class MapRankTotals : public QWidget
{
    Q_OBJECT
public:
    explicit MapRankTotals(MapViewport* viewport, QWidget* parent = nullptr);

    void setStack(MapStackPtr stack);
    void setMapPalette(std::shared_ptr<const MapPalette> palette);
    [[nodiscard]] QSize sizeHint() const override;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] int paddingWidth() const;
    void paintTitles(QPainter& painter) const;
    void paintSection(QPainter& painter, const MapSource& source) const;
    void paintBar(QPainter& painter, const QRectF& box, const MapQuery::Sum& sum) const;
    [[nodiscard]] static QString tooltipFor(const MapSource& source, uint32_t row);

    MapViewport* m_viewport;
    MapStackPtr m_stack;
    MapSectionHeaders m_headers;
    std::shared_ptr<const MapPalette> m_palette;
};

} // namespace shardscope::ui
