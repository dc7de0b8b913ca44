// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/counts.h"
#include "ui/models/column_table.h"
#include "ui/models/find/filter_text.h"
#include "ui/models/finding_mark.h"

namespace shardscope::ui {

/// Files of the checkpoint, those that are missing included; filtered, sortable.
class FileTableModel : public ColumnTable<FileId>
{
    Q_OBJECT
public:
    enum { Name, StatusColumn, Role, Rank, Bytes, Records };

    explicit FileTableModel(QObject* parent = nullptr);

    void setCheckpoint(CheckpointPtr checkpoint);
    /// Marks the files that findings touch; null: none.
    void setFindings(FindingPlacesPtr findings);
    /// Terms: role, status, rank, size, records.
    [[nodiscard]] static std::vector<FilterTerm> terms();
    void setFilter(const QString& text);
    [[nodiscard]] const std::optional<FilterProblem>& problem() const { return m_filter.problem(); }
    void sort(int column, Qt::SortOrder order) override;

    [[nodiscard]] FileCounts shown() const; ///< of the rows

private:
    void rebuild();
    [[nodiscard]] bool keeps(FileId id) const;
    [[nodiscard]] const CheckpointFile& file(FileId id) const { return m_checkpoint->file(id); }
    [[nodiscard]] int statusSeverity(FileId id) const;
    [[nodiscard]] FindingMark markAt(FileId id) const;

    CheckpointPtr m_checkpoint;
    FindingPlacesPtr m_findings;
    uint64_t m_maxBytes = 0;
    FilterText m_filter;
    int m_sortColumn = Name;
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
};

} // namespace shardscope::ui
