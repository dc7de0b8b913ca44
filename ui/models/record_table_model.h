// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/record_list.h"

#include <QAbstractTableModel>

namespace shardscope::ui {

/// Records of one file with their byte ranges; filtered by a part of the name or of the use.
class RecordTableModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column { Name, Offset, End, Bytes, Crc, UsedBy, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    void setList(RecordList list);
    void setFilter(const QString& part);
    [[nodiscard]] const RecordList& list() const { return m_list; }
    [[nodiscard]] uint32_t recordAt(int row) const { return m_rows[static_cast<size_t>(row)]; }
    [[nodiscard]] int rowOf(uint32_t record) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& at, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    void rebuild();
    [[nodiscard]] QString textOf(const RecordLine& line, int column) const;

    RecordList m_list;
    std::vector<uint32_t> m_rows;
    std::string m_filter;
};

} // namespace shardscope::ui
