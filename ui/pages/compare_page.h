// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/controls/file_saver.h"
#include "ui/models/selection.h"
#include "ui/pages/page.h"
#include "ui/session/compare_run.h"

#include <functional>
#include <optional>

class QLabel;
class QSplitter;
class QTableView;
class QToolButton;

namespace shardscope::ui {

class CommandLine;
class CompareBar;
class CompareMaps;
class DifferenceTableModel;
class MessageBar;
class VerdictPanel;

/// The comparison of the open checkpoint with another one: verdict, both maps, and a row per difference.
class ComparePage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    ComparePage(const PageContext& context, QWidget* parent);

    [[nodiscard]] QString filterHint() const override { return tr("Filter differences (Ctrl+F)"); }
    void setFilter(const QString& filter) override;
    [[nodiscard]] std::vector<FilterTerm> filterTerms() const override { return differenceTerms(); }
    /// Selects the next (1) or previous (−1) row, and wraps around at the ends.
    void goToDifference(int step);
    /// Writes the whole comparison as JSON; a message reports the result.
    void saveReport(const QString& path);
    /// Writes the rows as they are shown, filtered and sorted, as CSV; a message reports the result.
    void saveRows(const QString& path);
    [[nodiscard]] QTableView* table() const { return m_table; }
    [[nodiscard]] CompareMaps* maps() const { return m_maps; }
    [[nodiscard]] QSize minimumSizeHint() const override;
    [[nodiscard]] bool isBusy() const override;
    void compareWith(const QString& path, bool start) override;
    [[nodiscard]] bool canRun(const PageAction& action) const override;

protected:
    void showCheckpoint() override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeTablePart();
    void connectParts();
    void start();
    [[nodiscard]] bool hasRows() const;
    void showRun();
    void query();
    void showRows(std::vector<uint32_t> rows);
    void showCurrent();
    /// Lists the options, or folds them, if this is their row.
    bool toggleOptions(const QModelIndex& at);
    void fitName();
    void shareHeight();
    void updateCommand();
    void updateEmpty();
    QToolButton* addButton(const QString& name, const QString& text, const QString& tip);
    void askWhere(const QString& kind, const QString& fileName, void (ComparePage::*save)(const QString&));
    /// `command`: that makes the same; `filter`: of the rows.
    [[nodiscard]] ComparisonToSave toSave(const QString& command, const QString& filter) const;
    void write(const QString& path, std::function<QString(const SaveTarget&)> work);

    CompareRun& m_run;
    bool m_startWaits = false; ///< until the checkpoint is fully read
    CompareBar* m_bar;
    MessageBar* m_messages;
    VerdictPanel* m_verdict;
    QLabel* m_empty;
    QSplitter* m_splitter;
    CompareMaps* m_maps;
    QTableView* m_table;
    DifferenceTableModel* m_model;
    QLabel* m_count;
    QToolButton* m_showMaps; ///< where there is no room for both
    QToolButton* m_saveRows;
    QToolButton* m_save;
    CommandLine* m_command;
    DifferenceOrder m_order;
    std::optional<QString> m_rowsFilter; ///< that made the rows; none: they are not there yet
    bool m_filling = false;
    LatestOnly m_querier{WorkLength::Short};
    FileSaver m_saver{m_messages};
};

} // namespace shardscope::ui
