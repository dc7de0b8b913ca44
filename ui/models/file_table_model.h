// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/counts.h"
#include "ui/models/column_table.h"

namespace shardscope::ui {

/// Files of the checkpoint, those that are missing included; filtered by a part of the name or as
/// role:optimizer, sortable.
class FileTableModel : public ColumnTable<FileId>
{
    Q_OBJECT
public:
    enum { Name, Role, Rank, Bytes, Records, StatusColumn };

    explicit FileTableModel(QObject* parent = nullptr);

    void setCheckpoint(CheckpointPtr checkpoint);
    void setFilter(const QString& part);
    void sort(int column, Qt::SortOrder order) override;

    [[nodiscard]] FileCounts shown() const; ///< of the rows

private:
    [[nodiscard]] bool keeps(const CheckpointFile& each) const;
    void rebuild();
    [[nodiscard]] const CheckpointFile& file(FileId id) const { return m_checkpoint->file(id); }
    [[nodiscard]] int severity(FileId id) const;

    CheckpointPtr m_checkpoint;
    uint64_t m_maxBytes = 0;
    std::string m_filter;
    int m_sortColumn = -1; ///< -1: as in the folder
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
};

} // namespace shardscope::ui
