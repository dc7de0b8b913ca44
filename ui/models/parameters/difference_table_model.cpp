// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/difference_table_model.h"

#include "ui/models/model_roles.h"

namespace shardscope::ui {

void DifferenceTableModel::setList(DifferenceListPtr list)
{
    beginResetModel();
    m_list = std::move(list);
    m_rows.clear();
    endResetModel();
}

void DifferenceTableModel::setRows(std::vector<uint32_t> rows)
{
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

int DifferenceTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int DifferenceTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : kDifferenceColumns;
}

QVariant DifferenceTableModel::data(const QModelIndex& at, int role) const
{
    if (!at.isValid() || !m_list)
        return {};
    const uint32_t i = differenceAt(at.row());
    const auto column = static_cast<DifferenceColumn>(at.column());
    switch (role) {
    case Qt::DisplayRole:
        return m_list->text(i, column);
    case CopyRole:
    case Qt::ToolTipRole:
        return m_list->text(i, column, true);
    case Qt::TextAlignmentRole:
        return column > DifferenceColumn::Different ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                                    : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case IdRole:
        return i;
    case MutedRole:
        return column == DifferenceColumn::State;
    default:
        return {};
    }
}

QVariant DifferenceTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    const auto column = static_cast<DifferenceColumn>(section);
    if (role == Qt::TextAlignmentRole)
        return column > DifferenceColumn::Different ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                                    : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && column == DifferenceColumn::NextStep)
        return tr("How far the next optimizer steps of both sides are apart, relative to their length");
    if (role != Qt::DisplayRole)
        return {};
    switch (column) {
    case DifferenceColumn::Kind:
        return tr("What");
    case DifferenceColumn::Name:
        return tr("Parameter or option");
    case DifferenceColumn::State:
        return tr("State");
    case DifferenceColumn::Different:
        return tr("Different");
    case DifferenceColumn::MaxAbs:
        return tr("Max abs");
    case DifferenceColumn::RelativeL2:
        return tr("Rel. L2");
    case DifferenceColumn::Cosine:
        return tr("Cosine");
    case DifferenceColumn::NextStep:
        return tr("Next step");
    }
    return {};
}

} // namespace shardscope::ui
