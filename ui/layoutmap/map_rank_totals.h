// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_side_column.h"

#include <map>
#include <utility>

namespace shardscope::ui {

/// The column right of the map: the bytes of all states that each rank stores of a section, below it of all
/// sections, and its padding. Bars are in one scale: as long as the bytes of all states, and of what should
/// be there where some is missing.
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
    void stackChanged() override;
    void paintSection(QPainter& painter, const MapSource& source) const;
    /// Bytes of everything that the rank of a row stores; empty if no rank has the row.
    [[nodiscard]] std::optional<uint64_t> bytesOfRank(const MapSource& source, uint32_t row) const;
    /// `length`: the part of the box that the bar fills, with padding and what is missing.
    void paintBar(QPainter& painter, const QRectF& box, const MapQuery::Sum& sum, double length) const;

    double m_longest = 1; ///< bytes of the longest bar
    mutable std::map<std::pair<uint32_t, uint32_t>, uint64_t> m_ofRanks; ///< by part and data-parallel rank
};

} // namespace shardscope::ui
