// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/controls/file_saver.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/file_table_model.h"
#include "ui/models/record_table_model.h"
#include "ui/models/selection.h"
#include "ui/pages/page.h"
#include "ui/session/findings/finding_store.h"

class QLabel;
class QTableView;
class QSplitter;

namespace shardscope::ui {

/// Files of the checkpoint above, records of the selected one with their byte ranges below.
class FilesPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    FilesPage(const PageContext& context, QWidget* parent);

    [[nodiscard]] QString filterHint() const override;
    void setFilter(const QString& text) override;
    [[nodiscard]] std::vector<FilterTerm> filterTerms() const override { return FileTableModel::terms(); }
    [[nodiscard]] QTableView* fileTable() const { return m_fileTable; }
    [[nodiscard]] QTableView* recordTable() const { return m_recordTable; }
    /// Writes the rows on screen to a CSV or JSON file; a message reports the result.
    void saveRows(const QString& path);
    [[nodiscard]] bool isBusy() const override
    {
        return m_loader.isRunning() || m_context.findings.marker().isBusy();
    }

protected:
    void showCheckpoint() override;
    void follow(const SelectedThing& thing) override;

private:
    void showFindings();
    void makeLayout();
    void fitFileColumns();
    void connectWidgets();
    void loadRecords(FileId file);
    void showRecords(RecordList list);
    void selectRecordOf(const SelectedThing& thing);
    void onRecordChosen(int row);
    void updateSummary();
    void askWhereToSave();

    FileTableModel* m_fileModel;
    RecordTableModel* m_recordModel;
    QTableView* m_fileTable;
    QTableView* m_recordTable;
    QWidget* m_records = nullptr; ///< title and table
    QLabel* m_recordTitle;
    QLabel* m_hint; ///< in place of records
    QLabel* m_summary;
    QString m_longest; ///< name of a file
    FileId m_shownFile = kNoFile;
    QString m_filter;
    bool m_following = false;
    LatestOnly m_loader{WorkLength::Long};
    FileSaver m_saver{[this](Severity severity, const QString& text) { Q_EMIT told(severity, text); }};
};

} // namespace shardscope::ui
