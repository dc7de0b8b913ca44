// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/run_list.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/column_table.h"
#include "ui/session/session.h"

#include <QStringList>

#include <memory>

namespace shardscope::ui {

/// A run of a folder of runs.
struct RunRow {
    std::string folder;
    QString name; ///< relative to the folder of runs
    std::shared_ptr<const RunSummary> read; ///< null until it was read
};

/// The runs of a folder as a table, read on a worker one after the other; rows are indices into runs().
class RunTableModel : public ColumnTable<uint32_t>
{
    Q_OBJECT
public:
    enum { Run, Tag, Step, Kind, Ranks, Bytes, Date, Tags, Findings };

    explicit RunTableModel(QObject* parent = nullptr);

    /// Null: none. Starts reading the runs.
    void setFolder(io::FileSystem& files, const RunsFolderPtr& folder);
    [[nodiscard]] const std::vector<RunRow>& runs() const { return m_runs; }
    /// Runs that were read.
    [[nodiscard]] size_t readCount() const;
    [[nodiscard]] bool isReading() const { return m_reader.isRunning(); }
    /// What to open for a run: the newest complete tag; else the newest tag, or the run folder.
    [[nodiscard]] io::Path folderToOpen(uint32_t run) const;
    /// Every word must occur in a row.
    void setFilter(const QString& text);
    void sort(int column, Qt::SortOrder order) override;

private:
    void receive(RunSummary run);
    void rebuild();
    [[nodiscard]] const RunRow& at(uint32_t row) const { return m_runs[row]; }
    [[nodiscard]] const TagSummary* tagOf(uint32_t row) const;

    std::vector<RunRow> m_runs;
    uint64_t m_maxBytes = 0;
    QStringList m_filter; ///< words
    int m_sortColumn = -1; ///< -1: by name
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
    LatestOnly m_reader{WorkLength::Long};
};

} // namespace shardscope::ui
