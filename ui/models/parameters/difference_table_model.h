// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/difference_list.h"

#include <QAbstractTableModel>

namespace shardscope::ui {

/// Rows of the compare page: an index vector over the differences, made by orderedDifferences().
class DifferenceTableModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;

    /// Another comparison, or none; rows are empty until setRows().
    void setList(DifferenceListPtr list);
    void setRows(std::vector<uint32_t> rows);
    [[nodiscard]] const DifferenceListPtr& list() const { return m_list; }
    [[nodiscard]] const std::vector<uint32_t>& rows() const { return m_rows; }
    [[nodiscard]] uint32_t differenceAt(int row) const { return m_rows[static_cast<size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& at, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    DifferenceListPtr m_list;
    std::vector<uint32_t> m_rows;
};

} // namespace shardscope::ui
