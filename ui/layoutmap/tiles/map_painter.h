// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_row_sampler.h"
#include "ui/layoutmap/geometry/map_values.h"
#include "ui/layoutmap/tiles/map_labels.h"

#include <QPainter>

#include <optional>
#include <vector>

namespace shardscope::ui {

/// The places under the pointer and the selected ones.
struct MapMarks {
    std::optional<MapSource::Point> hovered;
    std::optional<MapSource::Point> pinned; ///< the focused cell
    ParamId param = kNoParam; ///< highlighted on all ranks
    std::optional<uint32_t> rank; ///< number of the rank whose rows are highlighted (rank_list.h)
    std::vector<MapSource::Point> dropped; ///< marks that the user set
    QString sumText; ///< sum of the selected range
    bool hasFocus = false;
};

/// Draws over the tiles: names, values, rank borders, twins, selection, hover. GUI thread.
///
/// The painter it is given counts device pixels from the view's left top corner.
class MapPainter
{
public:
    MapPainter(const MapStack& stack, const MapViewport& viewport, const MapPalette& palette, MapStyle style);

    void paintRankBorders(QPainter& painter, const QFont& font) const;
    void paintLabels(QPainter& painter, MapLabels& labels) const;
    void paintValues(QPainter& painter, const QFont& font, MapValues& values) const;
    /// Says so where the view is beyond the end of a section: no section is blank without a reason.
    void paintEnds(QPainter& painter, const QFont& font) const;
    void paintMarks(QPainter& painter, const MapMarks& marks) const;

private:
    [[nodiscard]] int bodyHeight() const; ///< of a row, without the gap below it
    /// Elements are wide enough for their values; then names stand above them, if rows are high enough.
    [[nodiscard]] bool showsValues(uint32_t section, const QFontMetrics& metrics) const;
    [[nodiscard]] bool hasRoomForBoth(const QFontMetrics& metrics) const;
    [[nodiscard]] QRectF viewRect(const MapBlock& block) const;
    void outline(QPainter& painter, const QRectF& rect, QRgb colour, double width, bool halo) const;
    void paintRankBorders(QPainter& painter, const MapSource& source) const;
    void paintValues(QPainter& painter, const MapSource& source, MapValues& values) const;
    void paintTwins(QPainter& painter, const MapSource& source, ParamId param) const;
    void paintRank(QPainter& painter, const MapSource& source, uint32_t rank) const;
    template <class Paint>
    void forEachVisible(Paint paint) const;
    void paintDropped(QPainter& painter, const MapSource::Point& point) const;
    void paintSum(QPainter& painter, const QRectF& selected, const QString& text) const;

    const MapStack& m_stack;
    const MapViewport& m_viewport;
    const MapPalette& m_palette;
    MapStyle m_style;
    double m_unit; ///< device pixels per logical pixel
};

} // namespace shardscope::ui
