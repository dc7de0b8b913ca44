// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/layoutmap: the map as one widget with its canvas, rulers, legend, minimap, mouse and keys. It uses
// ui/layoutmap/{tiles,geometry}, ui/{controls,models,widgets,text,style}, core/{layout,base}. Start with
// LayoutMapView; others need no more than it, MapLegend and MapPicture.

#include "ui/layoutmap/geometry/map_bookmarks.h"
#include "ui/layoutmap/map_canvas.h"

#include <QWidget>

namespace shardscope::ui {

class MapHeader;
class MapInteraction;
class MapLegend;
class MapMinimap;
class MapPinnedRows;
class MapRuler;
class MapScrollBar;
class MapSelectionLink;
class RankGutter;
class Selection;
class Theme;

/// The partition map: every element of a flat group over its ranks, from the whole down to single values.
///
/// Shows one unit and one state of a checkpoint. A click changes the shared Selection; a parameter selected
/// in another view is highlighted here on all ranks. GUI thread.
class LayoutMapView : public QWidget
{
    Q_OBJECT
public:
    explicit LayoutMapView(const Theme* theme, QWidget* parent = nullptr);
    ~LayoutMapView() override;

    /// Null empties the view. Unit, state and zoom are kept where the new checkpoint has them too. `looks`
    /// are the checkpoint's, best made on a worker; null: made here, once.
    void setCheckpoint(CheckpointPtr checkpoint, ParamLooksPtr looks = nullptr);
    void setUnit(UnitId unit);
    /// Position in the unit's list of states; beyond its end: the first.
    void setState(int state);
    void setProjection(MapQuery::Projection projection);
    void setColourMode(MapColourMode mode);
    /// Findings of the check, besides those from opening the checkpoint.
    void setFindings(std::vector<Finding> findings);
    /// Parameters found by a filter; others are dimmed. Null: none is dimmed.
    void setLit(ParamMarks lit);
    /// Result of a comparison, for MapColourMode::Difference; null: no comparison.
    void setDifferences(DifferenceMarksPtr differences);
    /// The selection shared with other views; null for a map without other views.
    void setSelection(Selection* selection);
    /// Hides header, legend and minimap, for maps shown side by side.
    void setCompact(bool compact);

    [[nodiscard]] MapColourMode colourMode() const { return m_style.mode; }
    [[nodiscard]] UnitId unit() const { return m_unit; }
    [[nodiscard]] MapQuery::Projection projection() const { return m_projection; }
    [[nodiscard]] MapViewport* viewport() const { return m_viewport; }
    [[nodiscard]] MapCanvas* canvas() const { return m_canvas; }
    [[nodiscard]] const MapPinnedRows& pinnedRows() const { return *m_pinned; }

Q_SIGNALS:
    /// Enter or the like: open this parameter.
    void parameterActivated(shardscope::ParamId param);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void makeChildren();
    void arrangeChildren();
    void connectChildren();
    void applyTheme();
    void showUnit(bool keepZoom);
    void setSource(MapSourcePtr source, bool keepZoom);
    void toggleClass(ParamClass paramClass);
    void applyStyle();
    void pinRow(uint32_t row);
    void toggleMark(MapSource::Point point);
    void goToNextMark();
    void showMarks();

    const Theme* m_theme;
    CheckpointPtr m_checkpoint;
    ParamLooksPtr m_looks;
    std::vector<Finding> m_findings;
    UnitId m_unit = kNoUnit;
    uint32_t m_state = 0;
    MapQuery::Projection m_projection = MapQuery::Projection::Partitions;
    MapStyle m_style;
    MapBookmarks m_bookmarks;

    MapViewport* m_viewport;
    MapHeader* m_header = nullptr;
    MapMinimap* m_minimap = nullptr;
    MapRuler* m_ruler = nullptr;
    MapPinnedRows* m_pinned = nullptr;
    RankGutter* m_gutter = nullptr;
    MapCanvas* m_canvas = nullptr;
    MapInteraction* m_interaction = nullptr;
    MapSelectionLink* m_link = nullptr;
    MapScrollBar* m_rowBar = nullptr;
    MapScrollBar* m_columnBar = nullptr;
    MapLegend* m_legend = nullptr;
};

} // namespace shardscope::ui
