// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/controls/file_saver.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/selection.h"
#include "ui/pages/page.h"
#include "ui/session/check_run.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/findings/finding_tree_model.h"
#include "ui/session/plans/repair_preview.h"

class QLabel;
class QSplitter;
class QTreeView;

namespace shardscope::ui {

class ChangeSetPanel;
class CheckBar;
class FindingDetails;
class MessageBar;

/// The findings of the check: kinds on the left, the meaning of the selected one on the right; below each
/// other where the page is narrow.
class FindingsPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    /// Several pages may show one store.
    FindingsPage(const PageContext& context, QWidget* parent);

    [[nodiscard]] QString filterHint() const override;
    void setFilter(const QString& text) override;
    [[nodiscard]] std::vector<FilterTerm> filterTerms() const override { return FindingTreeModel::terms(); }
    /// Checks the checkpoint at the selected depth.
    void check();
    void prepareRepair() override;
    [[nodiscard]] Tab tab() const override;
    void saveReport(CheckReport form, const QString& path);
    [[nodiscard]] QSize minimumSizeHint() const override;
    [[nodiscard]] bool isBusy() const override;
    [[nodiscard]] ChangeSetPanel* changeSet() const { return m_changeSet; }
    [[nodiscard]] FindingTreeModel* model() const { return m_model; }

protected:
    void showCheckpoint() override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void connectParts();
    void showRun();
    void choose();
    void rememberFolded(const QModelIndex& at, bool folded);
    void showCurrent();
    void spanRows();
    void refill(const std::function<void()>& change);
    void updateEmpty();
    void askWhere(CheckReport form);
    void applyTicks();
    void showFilterState();
    void untickAll();
    /// Offers to undo, if the checkpoint is a repaired copy.
    void lookForRepair();
    void askForUndo();
    /// Plans the repair of each kind alone, once a check has ended and the page is seen.
    void planEach();
    void tickErrors();
    void setTicked(const std::string& code, bool ticked);

    CheckRun& m_run;
    FindingStore::DetailedFindings m_found; ///< null without a checkpoint
    CheckBar* m_bar;
    MessageBar* m_messages;
    QSplitter* m_splitter;
    FindingTreeModel* m_model;
    QTreeView* m_tree;
    FindingDetails* m_details;
    ChangeSetPanel* m_changeSet;
    QLabel* m_empty;
    FindingTreeModel::Key m_current; ///< is chosen again when the list is rebuilt
    bool m_filling = false;
    QString m_filter;
    std::vector<FindingTreeModel::Key> m_folded; ///< kinds
    bool m_chosen = false; ///< the user chose the current finding; else it is the worst one
    std::set<std::string> m_ticked;
    bool m_repairWanted = false; ///< as soon as the check has ended
    FileSaver m_saver{m_messages};
    LatestOnly m_repairFinder{WorkLength::Long};
    struct {
        std::shared_ptr<const CheckResult> of; ///< whose kinds were planned, or are
        LatestOnly planner{WorkLength::Long};
    } m_each;
};

} // namespace shardscope::ui
