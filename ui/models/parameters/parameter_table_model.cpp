// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/parameter_table_model.h"

#include "ui/text/rank_list.h"
#include "ui/text/text.h"

#include <QPointF>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QVariant alignmentOf(ParamColumn column)
{
    const bool isNumber = column == ParamColumn::Elements || column == ParamColumn::Bytes
        || column == ParamColumn::Ranks || column == ParamColumn::Padding || column == ParamColumn::Group;
    return isNumber ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                    : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
}

} // namespace

void ParameterTableModel::setIndex(ParameterIndexPtr index)
{
    beginResetModel();
    m_index = std::move(index);
    m_rows.clear();
    endResetModel();
}

void ParameterTableModel::setRows(std::vector<ParamId> rows)
{
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

int ParameterTableModel::rowOf(ParamId param) const
{
    const auto found = std::find(m_rows.begin(), m_rows.end(), param);
    return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
}

int ParameterTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int ParameterTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : kParamColumns;
}

QString ParameterTableModel::textOf(ParamId id, ParamColumn column) const
{
    const Parameter& param = m_index->checkpoint()->params[shardscope::index(id)];
    const ParamFacts& facts = m_index->facts(id);
    switch (column) {
    case ParamColumn::Name:
        return toText(param.name);
    case ParamColumn::Shape:
        return QString::fromStdString(shapeText(param.shape));
    case ParamColumn::Elements:
        return countText(param.elements);
    case ParamColumn::Bytes:
        return bytesText(facts.bytes);
    case ParamColumn::Ranks:
        return facts.ranks() == 0 ? u"–"_s : countText(facts.ranks());
    case ParamColumn::Where:
        return {}; // drawn
    case ParamColumn::Padding:
        return facts.padding == 0 ? u"–"_s : countText(facts.padding);
    case ParamColumn::DType:
        return facts.dtype == DType::Unknown ? u"–"_s : toText(dtypeName(facts.dtype));
    case ParamColumn::Kind:
        return param.sharedWith != kNoParam ? tr("%1, shared").arg(roleText(param.role))
                                            : roleText(param.role);
    case ParamColumn::Group:
        return param.group < 0 ? u"–"_s : QString::number(param.group);
    case ParamColumn::States:
        return toText(m_index->stateSets()[facts.states]);
    }
    return {};
}

QString ParameterTableModel::placeOf(ParamId id) const
{
    const Checkpoint& checkpoint = *m_index->checkpoint();
    const FlatUnit* unit = checkpoint.unitOf(id);
    const ParamFacts& facts = m_index->facts(id);
    if (unit == nullptr || facts.ranks() == 0)
        return tr("stored whole");
    const auto rank = [&](uint32_t share) { return rankLabel(checkpoint, checkpoint.rankOf(*unit, share)); };
    const QString where = facts.ranks() == 1
        ? rank(facts.firstShare)
        : tr("%1 to %2").arg(rank(facts.firstShare), rank(facts.lastShare));
    return tr("%1, of %2 ranks").arg(where, countText(unit->partition.ranks()));
}

QString ParameterTableModel::toolTipOf(ParamId id, ParamColumn column) const
{
    const Parameter& param = m_index->checkpoint()->params[shardscope::index(id)];
    if (column == ParamColumn::Bytes)
        return tr("%1 in all states").arg(exactBytesText(m_index->facts(id).bytes));
    if (column == ParamColumn::Ranks || column == ParamColumn::Where)
        return placeOf(id);
    if (column == ParamColumn::Padding)
        return tr("%1 elements of padding next to it, on all ranks together")
            .arg(countText(m_index->facts(id).padding));
    if (column == ParamColumn::Kind && param.sharedWith != kNoParam)
        return tr("Shares its storage with %1")
            .arg(toText(m_index->checkpoint()->params[shardscope::index(param.sharedWith)].name));
    return textOf(id, column);
}

QVariant ParameterTableModel::data(const QModelIndex& at, int role) const
{
    if (!at.isValid() || !m_index)
        return {};
    const ParamId id = paramAt(at.row());
    const auto column = static_cast<ParamColumn>(at.column());
    switch (role) {
    case Qt::DisplayRole:
        return textOf(id, column);
    case Qt::ToolTipRole:
        return toolTipOf(id, column);
    case Qt::TextAlignmentRole:
        return alignmentOf(column);
    case Qt::AccessibleTextRole:
        return column == ParamColumn::Where ? QVariant(placeOf(id)) : QVariant();
    case WhereRole:
        if (column != ParamColumn::Where || m_index->facts(id).ranks() == 0)
            return {};
        return QPointF(m_index->facts(id).begin, m_index->facts(id).end);
    case ShareRole:
        if (column != ParamColumn::Bytes || m_index->maxBytes() == 0)
            return {};
        return static_cast<double>(m_index->facts(id).bytes) / static_cast<double>(m_index->maxBytes());
    case CopyRole:
        if (column == ParamColumn::Bytes)
            return QString::number(m_index->facts(id).bytes);
        if (column == ParamColumn::Elements)
            return QString::number(m_index->checkpoint()->params[shardscope::index(id)].elements);
        if (column == ParamColumn::Padding)
            return QString::number(m_index->facts(id).padding);
        return column == ParamColumn::Where ? placeOf(id) : textOf(id, column);
    case IdRole:
        return shardscope::index(id);
    case MutedRole:
        return column != ParamColumn::Name && column != ParamColumn::Bytes;
    default:
        return {};
    }
}

QVariant ParameterTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    const auto column = static_cast<ParamColumn>(section);
    if (role == Qt::TextAlignmentRole)
        return alignmentOf(column);
    if (role != Qt::DisplayRole)
        return {};
    switch (column) {
    case ParamColumn::Name:
        return tr("Name");
    case ParamColumn::Shape:
        return tr("Shape");
    case ParamColumn::Elements:
        return tr("Elements");
    case ParamColumn::Bytes:
        return tr("Size");
    case ParamColumn::Ranks:
        return tr("Ranks");
    case ParamColumn::Where:
        return tr("Where");
    case ParamColumn::Padding:
        return tr("Padding");
    case ParamColumn::DType:
        return tr("Dtype");
    case ParamColumn::Kind:
        return tr("Kind");
    case ParamColumn::Group:
        return tr("Group");
    case ParamColumn::States:
        return tr("States");
    }
    return {};
}

} // namespace shardscope::ui
