// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/layoutmap: the map as one widget with its canvas, rulers, legend, minimap, mouse and keys. Start
// with LayoutMapView.

#include "ui/layoutmap/geometry/map_bookmarks.h"
#include "ui/layoutmap/map_canvas.h"
#include "ui/layoutmap/map_stack_maker.h"

#include <QWidget>

class QLabel;

namespace shardscope::ui {

class MapHeader;
class MapInteraction;
class MapLayerStrip;
class MapLegend;
class MapMinimap;
class MapPinnedRows;
class MapRankTotals;
class MapRuler;
class MapScrollBar;
class MapSelectionLink;
class RankGutter;
class Selection;
class Theme;

/// The partition map: every element of a checkpoint over its ranks, from the whole down to single values; or
/// its files, from the whole down to single bytes.
///
/// Shows one state of all units, or of one of them; of files, all states. A click changes the shared
/// Selection; a parameter selected in another view is highlighted here on all ranks. GUI thread.
class LayoutMapView : public QWidget
{
    Q_OBJECT
public:
    explicit LayoutMapView(const Theme* theme, QWidget* parent = nullptr);
    ~LayoutMapView() override;

    /// Null empties the view. What is shown and how is kept for another checkpoint of the same run; the zoom,
    /// where its sections are of the same sizes. `looks` are the checkpoint's, best made on a worker; null:
    /// made here, once.
    void setCheckpoint(CheckpointPtr checkpoint, MapLooksPtr looks = nullptr);
    /// Shows one of MapLooks::sections alone; unset: all of them.
    void setSection(std::optional<uint32_t> section);
    /// Shows the section of this unit alone.
    void setUnit(UnitId unit);
    /// Position in MapLooks::sectionStates; beyond its end: the first.
    void setState(int state);
    /// A name that no unit has is the first one's.
    void setState(std::string_view state);
    /// Shows ranks.
    void setProjection(MapQuery::Projection projection);
    /// Shows files as rows in place of ranks.
    void setFilesShown(bool shown);
    [[nodiscard]] bool showsFiles() const { return m_maker.subject().files; }
    void setColourMode(MapColourMode mode);
    /// Findings of the check, besides those from opening the checkpoint.
    void setFindings(std::vector<Finding> findings);
    /// Parameters found by a filter; others are dimmed. Null: none is dimmed.
    void setLit(ParamMarks lit);
    /// Result of a comparison, for MapColourMode::Difference; null: no comparison.
    void setDifferences(DifferenceMarksPtr differences);
    /// Scrolls to a parameter without selecting it.
    void reveal(ParamId param);
    /// The selection shared with other views; null for a map without other views.
    void setSelection(Selection* selection);
    /// Hides all but the ranks, the ruler and the cells, for maps shown next to one another. Bytes and
    /// padding of each rank are shown if `withTotals` and there is room for them.
    void setCompact(bool compact, bool withTotals = false);
    /// Gives two maps one scale, as MapStack::sizes(). Call it again after stackChanged() of one of them.
    static void useOneScale(LayoutMapView& one, LayoutMapView& other);
    /// Of the rows when the map is fitted, in pixels; those that do not fit are scrolled to. Without it, rows
    /// of few ranks are as high as their names.
    void setLeastRowHeight(int height) { m_viewport->setLeastRowHeight(height); }

    [[nodiscard]] MapColourMode colourMode() const { return m_style.mode; }
    [[nodiscard]] const std::string& state() const { return m_maker.subject().state; }
    [[nodiscard]] std::optional<uint32_t> section() const { return m_maker.subject().section; }
    [[nodiscard]] MapQuery::Projection projection() const { return m_maker.subject().projection; }
    /// Sections or tiles are still being made.
    [[nodiscard]] bool isBusy() const;
    [[nodiscard]] MapViewport* viewport() const { return m_viewport; }
    [[nodiscard]] MapCanvas* canvas() const { return m_canvas; }
    [[nodiscard]] const MapPinnedRows& pinnedRows() const { return *m_pinned; }

Q_SIGNALS:
    /// Enter or the like: open this parameter.
    void parameterActivated(shardscope::ParamId param);
    /// The hovered place, the focused cell, the zoom or the scroll position changed.
    void placeChanged();
    /// Other sections are shown, or none.
    void stackChanged();
    /// A rank was clicked in the column of ranks.
    void rowClicked(shardscope::ui::MapSource::Point row);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    /// What is shown around the cells.
    enum class Frame : uint8_t { Whole, RanksAndTotals, Ranks };

    void makeChildren();
    void arrangeChildren();
    void connectChildren();
    void applyTheme();
    void setStack(const MapStackPtr& stack, bool keepZoom);
    void setBeside(const MapStackPtr& stack);
    void useDefaults();
    void updateLeastRow();
    void switchProjection();
    void showChoices();
    void updateMargins();
    /// Where the cells begin.
    void setLeftEdge(int x);
    /// What only ranks have: layers, and totals if there is room for them.
    void updateRankParts();
    [[nodiscard]] bool isCompact() const { return m_frame != Frame::Whole; }
    /// The ruler is that of the section under the mouse, else of the focused cell, else of the first one
    /// seen.
    void updateRuler();
    void toggleClass(ParamClass paramClass);
    void applyStyle();
    void pinRow(MapSource::Point row);
    void toggleMark(MapSource::Point point);
    void showMenu(const std::optional<MapSource::Point>& point, const std::optional<uint32_t>& header,
        const QPoint& globalPosition);
    void goToNextMark();
    void showMarks();

    const Theme* m_theme;
    MapStackMaker m_maker;
    MapStyle m_style;
    MapBookmarks m_bookmarks;

    MapViewport* m_viewport;
    MapHeader* m_header = nullptr;
    MapMinimap* m_minimap = nullptr;
    MapLayerStrip* m_layers = nullptr;
    QLabel* m_layersOf = nullptr; ///< whose layers
    MapRuler* m_ruler = nullptr;
    MapPinnedRows* m_pinned = nullptr;
    RankGutter* m_gutter = nullptr;
    MapCanvas* m_canvas = nullptr;
    MapInteraction* m_interaction = nullptr;
    MapSelectionLink* m_link = nullptr;
    MapRankTotals* m_totals = nullptr;
    MapScrollBar* m_rowBar = nullptr;
    MapScrollBar* m_columnBar = nullptr;
    MapLegend* m_legend = nullptr;
    Frame m_frame = Frame::Whole;
};

} // namespace shardscope::ui
