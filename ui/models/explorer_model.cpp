// SPDX-License-Identifier: Apache-2.0
#include "ui/models/explorer_model.h"

#include "ui/models/model_roles.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void ExplorerModel::setTree(CheckpointPtr checkpoint, ExplorerTreePtr tree)
{
    beginResetModel();
    m_checkpoint = std::move(checkpoint);
    m_tree = std::move(tree);
    m_marks = nullptr;
    endResetModel();
}

void ExplorerModel::setMarks(ExplorerMarksPtr marks)
{
    if (!m_tree || marks == m_marks)
        return;
    m_marks = std::move(marks);
    // Views request all visible cells again, so one range of siblings is enough.
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, 0), {SeverityRole, Qt::ToolTipRole});
}

/// The worse severity of the opener's and the check's findings.
int ExplorerModel::severityOf(uint32_t number) const
{
    const ExplorerMarks::Mark* mark = m_marks ? m_marks->of(number) : nullptr;
    const ExplorerNode& node = m_tree->nodes()[number];
    const int8_t own = node.lostBytes > 0 ? int8_t{2} : node.severity;
    return std::max(own, mark != nullptr ? mark->severity : int8_t{-1});
}

const ExplorerNode* ExplorerModel::nodeAt(const QModelIndex& at) const
{
    return at.isValid() && m_tree ? &m_tree->nodes()[numberOf(at)] : nullptr;
}

QModelIndex ExplorerModel::indexOf(ExplorerKind kind, uint32_t id) const
{
    const uint32_t number = m_tree ? m_tree->find(kind, id) : 0;
    if (number == 0)
        return {};
    return createIndex(static_cast<int>(m_tree->nodes()[number].row), 0, quintptr{number});
}

QString ExplorerModel::fullName(const QModelIndex& at) const
{
    return m_tree ? toText(m_tree->fullName(numberOf(at))) : QString();
}

QModelIndex ExplorerModel::index(int row, int column, const QModelIndex& parent) const
{
    if (!m_tree || row < 0 || column < 0 || column > 1 || parent.column() > 0)
        return {};
    const ExplorerNode& node = m_tree->nodes()[numberOf(parent)];
    if (row >= static_cast<int>(node.childCount))
        return {};
    return createIndex(row, column, quintptr{node.firstChild + static_cast<uint32_t>(row)});
}

QModelIndex ExplorerModel::parent(const QModelIndex& child) const
{
    if (!child.isValid() || !m_tree)
        return {};
    const uint32_t number = m_tree->nodes()[numberOf(child)].parent;
    if (number == 0)
        return {};
    return createIndex(static_cast<int>(m_tree->nodes()[number].row), 0, quintptr{number});
}

int ExplorerModel::rowCount(const QModelIndex& parent) const
{
    return m_tree && parent.column() <= 0 ? static_cast<int>(m_tree->nodes()[numberOf(parent)].childCount)
                                          : 0;
}

int ExplorerModel::columnCount(const QModelIndex& /*parent*/) const
{
    return 2;
}

QString ExplorerModel::labelOf(const ExplorerNode& node) const
{
    switch (node.kind) {
    case ExplorerKind::Section:
        switch (node.id) {
        case 0:
            return tr("Modules");
        case 1:
            return tr("Ranks");
        case 2:
            return tr("Files");
        default:
            return tr("Groups");
        }
    case ExplorerKind::Group:
        return tr("Group %1").arg(node.id);
    case ExplorerKind::Unit: {
        const FlatUnit& unit = m_checkpoint->units[node.id];
        const QString holder = holderText(*m_checkpoint, unit);
        if (!unit.subgroup)
            return holder.isEmpty() ? tr("Flat buffer") : holder;
        const QString text = tr("Sub-group %1").arg(*unit.subgroup);
        return holder.isEmpty() ? text : text % u" · "_s % holder;
    }
    case ExplorerKind::Rank:
        return rankLabel(*m_checkpoint, rankAt(*m_checkpoint, node.id));
    case ExplorerKind::NoRank:
        return tr("of no rank");
    case ExplorerKind::Fold:
        return toText(m_tree->foldLabel(node.id));
    default:
        return node.label.empty() ? tr("(no name)") : toText(node.label);
    }
}

QString ExplorerModel::toolTipOf(uint32_t number) const
{
    const ExplorerNode& node = m_tree->nodes()[number];
    QString text;
    switch (node.kind) {
    case ExplorerKind::Fold:
        text = toText(m_tree->fullName(number)) % u'\n' % tr("Layers with the same names, shapes and roles");
        break;
    case ExplorerKind::Module:
    case ExplorerKind::Param:
        text = toText(m_tree->fullName(number));
        break;
    case ExplorerKind::File:
        text = pathText(m_checkpoint->files[node.id].path) % u'\n'
            % fileStatusText(*m_checkpoint, FileId{node.id});
        break;
    case ExplorerKind::Rank:
        text = labelOf(node);
        if (node.severity == 2)
            text += u'\n' % tr("A file of this rank is missing or damaged.");
        break;
    case ExplorerKind::NoRank:
        text = tr("Files that belong to all ranks, or to none");
        break;
    default:
        text = labelOf(node);
    }
    if (node.params > 0)
        text += u'\n' % parametersText(node.params);
    if (const ExplorerMarks::Mark* mark = m_marks ? m_marks->of(number) : nullptr) {
        if (mark->here > 0)
            text += u'\n' % sentenceText(m_marks->first(*mark).message);
        if (mark->here > 1)
            text += u'\n' % tr("and %1 more").arg(countText(mark->here - 1));
        if (mark->below > 0)
            text += u'\n'
                % (mark->below == 1 ? tr("1 finding below")
                                    : tr("%1 findings below").arg(countText(mark->below)));
    }
    if (node.lostBytes > 0)
        text += u'\n' % tr("%1 of it is missing.").arg(exactBytesText(node.lostBytes));
    return text % u'\n' % exactBytesText(node.bytes);
}

QVariant ExplorerModel::data(const QModelIndex& at, int role) const
{
    const ExplorerNode* node = nodeAt(at);
    if (node == nullptr)
        return {};
    const bool isSize = at.column() == 1;
    switch (role) {
    case Qt::DisplayRole:
        return isSize ? bytesText(node->bytes) : labelOf(*node);
    case Qt::ToolTipRole:
        return toolTipOf(numberOf(at));
    case Qt::TextAlignmentRole:
        return isSize ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                      : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case ShareRole: {
        const ExplorerNode& parent = m_tree->nodes()[node->parent];
        if (!isSize || node->kind == ExplorerKind::Section || parent.bytes == 0)
            return {};
        return static_cast<double>(node->bytes) / static_cast<double>(parent.bytes);
    }
    case CopyRole:
        return isSize ? QString::number(node->bytes)
            : node->kind == ExplorerKind::Module || node->kind == ExplorerKind::Fold
                || node->kind == ExplorerKind::Param
            ? fullName(at)
            : labelOf(*node);
    case SeverityRole:
        return isSize ? -1 : severityOf(numberOf(at));
    default:
        return {};
    }
}

QVariant ExplorerModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole && section == 1)
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    return section == 0 ? tr("Name") : tr("Size");
}

} // namespace shardscope::ui
