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
    /// Scrolls to a parameter that is not selected.
    void reveal(ParamId param);
    /// Selects the rank or the file of a row.
    void selectRow(MapSource::Point place);
    /// Goes to the page of the selected file.
    void showFile();
    /// A sentence for the status bar.
    void say(const QString& sentence);

Q_SIGNALS:
    /// The new selection is of this state.
    void stateWanted(const std::string& state);
    /// Number of the selected rank (rank_list.h).
    void rankSelected(std::optional<uint32_t> rank);
    /// The new selection is in another unit than the one shown.
    void unitWanted(shardscope::UnitId unit);

private:
    [[nodiscard]] QString sentenceAt(MapSource::Point point) const;
    [[nodiscard]] QString sumOf(const MapBlock& block) const;
    void onHovered(const std::optional<MapSource::Point>& point);
    void onPinned(const std::optional<MapSource::Point>& point);
    void onRangeSelected();
    void onSelection(const SelectedThing& thing);
    void markRank(const std::optional<uint32_t>& rank);
    void showParam(const MapSource& source, ParamId param, const SelectedThing& thing);
    /// The first fragment; where differences are shown, the first one that differs.
    [[nodiscard]] std::optional<MapSource::Point> placeOf(const MapSource& source, ParamId param) const;
    void showNothing(const SelectedThing& thing);
    /// The beginning of the selected block, or the selected byte; of the row of the selected rank.
    [[nodiscard]] std::optional<MapSource::Point> placeOf(const SelectedThing& thing) const;
    [[nodiscard]] std::optional<MapSource::Point> rankOf(const SelectedThing& thing) const;

    MapCanvas* m_canvas;
    MapViewport* m_viewport;
    QPointer<Selection> m_selection;
    SelectedThing m_stateFollowed; ///< the last one whose state was shown
    bool m_isPublishing = false; ///< the map itself changes the selection
};

/// A place of the map in terms of the shared selection: parameter, rank, block, file and byte of the cell
/// there.
SelectedThing selectedThingAt(const MapSource& source, MapSource::Point point);

} // namespace shardscope::ui
