// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/map_canvas.h"

#include <QObject>

#include <optional>

namespace shardscope::ui {

/// The pinned cell and the ways it moves: to neighbours, other ranks, fragments of the same parameter,
/// findings. The target of a step is scrolled into view.
class MapCursor : public QObject
{
    Q_OBJECT
public:
    MapCursor(MapCanvas* canvas, MapViewport* viewport, QObject* parent);

    [[nodiscard]] bool isPinned() const { return m_canvas->marks().pinned.has_value(); }
    void pin(const std::optional<MapSource::Point>& point);

    /// The pinned point, or the first one on screen.
    [[nodiscard]] MapSource::Point place() const;
    /// Pins the point and scrolls to it; emits refused() with the sentence if there is no point.
    void goTo(const std::optional<MapSource::Point>& point, const QString& otherwise);

    void stepNeighbour(MapStep step);
    void stepRank(int direction);
    void stepSibling(MapStep step);
    void stepFinding(MapStep step);
    void stepPadding(MapStep step);
    /// Grows the selected range by the next cell of the row.
    void extend(MapStep step);
    /// Centres the selected range or the pinned cell; when it is centred already, fills the view with it.
    void centreOrFit();
    /// Clears the selected range first, the pin next; false when there was neither.
    bool stepBack();

    [[nodiscard]] IsShown unfolded() const;

Q_SIGNALS:
    void pinnedChanged(std::optional<shardscope::ui::MapSource::Point> point);
    /// There is no place to go to; the sentence says why.
    void refused(const QString& sentence);

private:
    MapCanvas* m_canvas;
    MapViewport* m_viewport;
};

} // namespace shardscope::ui
