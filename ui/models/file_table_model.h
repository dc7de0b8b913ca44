// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/counts.h"

#include <QAbstractTableModel>

namespace shardscope::ui {

/// Files of the checkpoint, those that are missing included; filtered by a part of the name, sortable.
class FileTableModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column { Name, Role, Rank, Bytes, Records, StatusColumn, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    void setCheckpoint(CheckpointPtr checkpoint);
    void setFilter(const QString& part);
    void sort(int column, Qt::SortOrder order) override;

    [[nodiscard]] FileId fileAt(int row) const { return m_rows[static_cast<size_t>(row)]; }
    [[nodiscard]] int rowOf(FileId file) const;
    [[nodiscard]] FileCounts shown() const; ///< of the rows

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& at, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    void rebuild();
    [[nodiscard]] QString textOf(FileId id, int column) const;

    CheckpointPtr m_checkpoint;
    std::vector<FileId> m_rows;
    uint64_t m_maxBytes = 0;
    std::string m_filter;
    int m_sortColumn = -1; ///< -1: as in the folder
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
};

} // namespace shardscope::ui
