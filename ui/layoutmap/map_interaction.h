// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_cursor.h"

#include <QObject>
#include <QPoint>

#include <optional>

class QContextMenuEvent;
class QHelpEvent;
class QKeyEvent;
class QMouseEvent;
class QWheelEvent;

namespace shardscope::ui {

/// Turns mouse and keys on the canvas into zooming, scrolling, pinning and range selection.
///
/// Wheel scrolls ranks (elements where all ranks fit), Shift+wheel elements, Ctrl+wheel zooms elements at the
/// pointer, Ctrl+Shift+wheel rows. Drag selects a range, Space+drag or middle drag pans. W S + − zoom, A D
/// move, arrows and , . step through cells, [ ] through fragments of one parameter, N through findings, Z
/// through padding, F centres and then fits, 0 shows all, P pins a rank's row, M sets marks, U switches the
/// projection, H folds a section, as a click on its header does; Shift+H folds or unfolds all.
class MapInteraction : public QObject
{
    Q_OBJECT
public:
    MapInteraction(MapCanvas* canvas, MapViewport* viewport);

    [[nodiscard]] MapCursor* cursor() const { return m_cursor; }

Q_SIGNALS:
    void hoveredChanged(std::optional<shardscope::ui::MapSource::Point> point);
    /// Enter: open the pinned parameter, or file. A double click on a file, too.
    void activated(std::optional<shardscope::ui::MapSource::Point> point);
    /// P: pin this row on top, or unpin it.
    void rowPinWanted(shardscope::ui::MapSource::Point point);
    /// M: set a mark here, or remove it. Shift+M: the next mark.
    void markWanted(shardscope::ui::MapSource::Point point);
    void nextMarkWanted();
    /// Right click or the menu key, on a cell, on the header of a section or outside the map.
    void menuWanted(std::optional<shardscope::ui::MapSource::Point> point, std::optional<uint32_t> header,
        QPoint globalPosition);
    /// U: ranks as rows, all as one line, or files as rows.
    void projectionSwitchWanted();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    enum class Drag { None, Pressed, Range, Pan };

    bool onMousePress(QMouseEvent* event);
    bool onMouseMove(QMouseEvent* event);
    bool onMouseRelease(QMouseEvent* event);
    bool onDoubleClick(QMouseEvent* event);
    bool onContextMenu(QContextMenuEvent* event);
    bool onWheel(QWheelEvent* event);
    bool onKeyPress(QKeyEvent* event);
    bool onMoveKey(int key, bool shift);
    bool onStepKey(int key, bool shift);
    bool onPlaceKey(int key, bool shift);
    void toggleFolded(uint32_t section);
    void hover(const std::optional<MapSource::Point>& point);
    void selectDragged(const QPoint& device);

    MapCanvas* m_canvas;
    MapViewport* m_viewport;
    MapCursor* m_cursor;
    Drag m_drag = Drag::None;
    bool m_spaceHeld = false;
    QPoint m_pressedAt;
    QPoint m_lastAt;
    std::optional<MapSource::Point> m_pressedPoint; ///< empty in a header or outside the map
    QPoint m_wheelRest;
};

} // namespace shardscope::ui
