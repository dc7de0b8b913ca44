// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/selection.h"
#include "ui/session/compare_run.h"
#include "ui/style/theme.h"

#include <QWidget>

class QComboBox;

namespace shardscope::ui {

class ElidedLabel;
class FindingStore;
class LayoutMapView;
class MapLegend;

/// The partition maps of both sides of a comparison, side by side, in its colours, for any topology.
/// A selection on one side is highlighted on the other side too. One state is shown, at first one that
/// differs.
class CompareMaps : public QWidget
{
    Q_OBJECT
public:
    CompareMaps(Theme& theme, Selection& selection, QWidget* parent = nullptr);

    /// Null: no comparison to show.
    void setOutcome(const CompareOutcomePtr& outcome);
    /// Marks the findings of both sides. `store` outlives this.
    void followFindings(const FindingStore& store);
    /// Goes to one state of a parameter on both sides; an id may be of a merged checkpoint.
    void showParam(ParamId left, ParamId right, std::string_view state);
    [[nodiscard]] LayoutMapView* left() const { return m_left; }
    [[nodiscard]] LayoutMapView* right() const { return m_right; }
    [[nodiscard]] bool isDrawn() const;
    /// Of titles and maps; the legend is shown if there is more.
    [[nodiscard]] int leastHeight() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    /// Goes to the first difference when both maps are there, once for an outcome. Without selecting it, and
    /// not where something is selected.
    void revealFirst();
    /// Of a parameter of the compared checkpoints, which may be merged ones, on the sides that are drawn.
    [[nodiscard]] ParamId drawnLeft(ParamId param) const;
    [[nodiscard]] ParamId drawnRight(ParamId param) const;
    void followLeft(const SelectedThing& thing);
    void followRight(const SelectedThing& thing);
    void updateLegend();
    void showFindings();
    /// Of both sides.
    void showState(std::string_view state);
    void updateStates();

    Theme& m_theme;
    Selection& m_selection;
    Selection m_other; ///< of the right side
    CompareOutcomePtr m_outcome;
    const FindingStore* m_store = nullptr;
    ElidedLabel* m_leftTitle;
    ElidedLabel* m_rightTitle;
    LayoutMapView* m_left;
    LayoutMapView* m_right;
    MapLegend* m_legend;
    QComboBox* m_state;
    bool m_following = false;
    bool m_revealsFirst = false; ///< still has to
};

} // namespace shardscope::ui
