// SPDX-License-Identifier: Apache-2.0
#include "ui/models/fragment_table_model.h"

#include "ui/models/model_roles.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void FragmentTableModel::setFragments(CheckpointPtr checkpoint, std::vector<Fragment> fragments)
{
    beginResetModel();
    m_checkpoint = std::move(checkpoint);
    m_fragments = std::move(fragments);
    endResetModel();
}

int FragmentTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_fragments.size());
}

int FragmentTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : int{ColumnCount};
}

QVariant FragmentTableModel::data(const QModelIndex& where, int role) const
{
    if (!where.isValid())
        return {};
    const Fragment& fragment = at(where.row());
    const bool missing = fragment.file == kNoFile;
    if (role == Qt::TextAlignmentRole)
        return where.column() == Rank || where.column() == File ? QVariant(Qt::AlignLeft | Qt::AlignVCenter)
                                                                : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role == SeverityRole)
        return where.column() == File && missing ? 2 : -1;
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole && role != CopyRole)
        return {};
    switch (where.column()) {
    case Rank:
        if (fragment.unit == kNoUnit)
            return tr("whole");
        return m_checkpoint->parts.empty() ? QString::number(fragment.rank.dp)
                                           : rankLabel(*m_checkpoint, fragment.rank);
    case Elements:
        return (fragment.columnMajor ? tr("%1 – %2 by columns") : u"%1 – %2"_s)
            .arg(countText(fragment.paramOffset), countText(fragment.paramOffset + fragment.elements));
    case Flat:
        return fragment.unit == kNoUnit ? u"–"_s : countText(fragment.flatOffset);
    case Byte:
        return missing ? u"–"_s : countText(fragment.byteOffset);
    default:
        return missing ? lossText(*m_checkpoint, fragment) : toText(m_checkpoint->file(fragment.file).name);
    }
}

QVariant FragmentTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return section == Rank || section == File ? QVariant(Qt::AlignLeft | Qt::AlignVCenter)
                                                  : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case Rank:
        return tr("Rank");
    case Elements:
        return tr("Elements");
    case Flat:
        return tr("Flat offset");
    case Byte:
        return tr("Byte");
    default:
        return tr("File");
    }
}

} // namespace shardscope::ui
