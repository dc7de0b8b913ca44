// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/models/detail_facts.h"
#include "ui/style/theme.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QScrollArea;
class QTableView;
class QToolButton;
class QVBoxLayout;

namespace shardscope::ui {

class FindingMarker;
class FindingStore;
class FragmentTableModel;

/// The Details dock's content: the facts of the selection, always in the same layout.
class DetailsPanel : public QWidget
{
    Q_OBJECT
public:
    DetailsPanel(Theme& theme, Selection& selection, QWidget* parent = nullptr);

    void setCheckpoint(const CheckpointPtr& checkpoint);
    /// Shows the findings of what is selected. `store` outlives the panel.
    void followFindings(const FindingStore& store);
    [[nodiscard]] QSize sizeHint() const override { return {330, 500}; }
    [[nodiscard]] QString title() const;
    [[nodiscard]] QTableView* fragmentTable() const { return m_fragments; }
    [[nodiscard]] bool isBusy() const;

Q_SIGNALS:
    void shown();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void makeLayout();
    void connectWidgets();
    void follow(const SelectedThing& thing);
    void show(Details details);
    void showEmpty();
    void addFact(QVBoxLayout* into, const DetailFact& fact);
    void fitFragments();
    [[nodiscard]] int fragmentColumnWidth(int column) const;
    void chooseFragment(int row);
    void applyTheme();

    Theme& m_theme;
    Selection& m_selection;
    FindingMarker* m_findings = nullptr;
    CheckpointPtr m_checkpoint;
    QLabel* m_kind;
    QLabel* m_title;
    QToolButton* m_copyTitle;
    QScrollArea* m_scroll;
    QWidget* m_fragmentBox;
    QLabel* m_fragmentTitle;
    QComboBox* m_states;
    QTableView* m_fragments;
    FragmentTableModel* m_fragmentModel;
    Details m_shown;
    bool m_following = false;
    LatestOnly m_finder{WorkLength::Short};
};

} // namespace shardscope::ui
