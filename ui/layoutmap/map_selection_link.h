// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_canvas.h"
#include "ui/models/selection.h"

#include <QObject>
#include <QPointer>

namespace shardscope::ui {

class MapInteraction;

/// Synchronises the map with the selection that all views share, and reports hovered, pinned and selected
/// places to the status bar and screen readers. GUI thread.
class MapSelectionLink : public QObject
{
    Q_OBJECT
public:
    MapSelectionLink(MapCanvas* canvas, MapViewport* viewport, MapInteraction* interaction, QObject* parent);

    void setSelection(Selection* selection);
    /// Shows the shared selection once more, after the map has changed.
    void follow();
    void selectRow(uint32_t row);
    /// A sentence for the status bar.
    void say(const QString& sentence);

Q_SIGNALS:
    /// The new selection is in another unit than the one shown.
    void unitWanted(shardscope::UnitId unit);

private:
    [[nodiscard]] QString sentenceAt(MapSource::Point point) const;
    void onHovered(const std::optional<MapSource::Point>& point);
    void onPinned(const std::optional<MapSource::Point>& point);
    void onRangeSelected();
    void onSelection(const SelectedThing& thing);
    void showParam(ParamId param, const std::optional<uint32_t>& rank);
    /// The map's row of the selected rank, where its unit has one.
    [[nodiscard]] std::optional<uint32_t> rowOf(const SelectedThing& thing) const;
    void showNothing(const std::optional<uint32_t>& rank);

    MapCanvas* m_canvas;
    MapViewport* m_viewport;
    QPointer<Selection> m_selection;
    bool m_isPublishing = false; ///< the map itself changes the selection
};

/// A place of the map in terms of the shared selection: parameter, rank, block, file and byte of the cell
/// there.
SelectedThing selectedThingAt(const MapSource& source, MapSource::Point point);

} // namespace shardscope::ui
