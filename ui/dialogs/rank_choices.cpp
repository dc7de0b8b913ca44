// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/rank_choices.h"

#include "ui/text/rank_list.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

constexpr uint32_t kMostListed = 1024; ///< ranks of a checkpoint

} // namespace

void RankChoices::setCheckpoints(CheckpointPtr before, CheckpointPtr after)
{
    beginResetModel();
    m_before = std::move(before);
    m_after = std::move(after);
    m_parameter.clear();
    endResetModel();
}

void RankChoices::setParameter(const QString& name)
{
    if (name == m_parameter)
        return;
    if (!m_parameter.isEmpty()) {
        beginRemoveRows({}, 0, 0);
        m_parameter.clear();
        endRemoveRows();
    }
    if (!name.isEmpty()) {
        beginInsertRows({}, 0, 0);
        m_parameter = name;
        endInsertRows();
    }
}

int RankChoices::ranksOf(Side side) const
{
    const CheckpointPtr& checkpoint = side == Side::Before ? m_before : m_after;
    return checkpoint ? static_cast<int>(std::min(rankCount(*checkpoint), kMostListed)) : 0;
}

int RankChoices::rowOf(Rank rank) const
{
    if (rank.rank >= static_cast<uint32_t>(ranksOf(rank.side)))
        return -1;
    return ranksFrom() + (rank.side == Side::After ? ranksOf(Side::Before) : 0) + static_cast<int>(rank.rank);
}

std::optional<RankChoices::Rank> RankChoices::rankAt(int row) const
{
    const int at = row - ranksFrom();
    const int before = ranksOf(Side::Before);
    if (at < 0 || at >= before + ranksOf(Side::After))
        return {};
    return at < before ? Rank{Side::Before, static_cast<uint32_t>(at)}
                       : Rank{Side::After, static_cast<uint32_t>(at - before)};
}

int RankChoices::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ranksFrom() + ranksOf(Side::Before) + ranksOf(Side::After);
}

QVariant RankChoices::data(const QModelIndex& at, int role) const
{
    if (!at.isValid() || role != Qt::DisplayRole)
        return {};
    const std::optional<Rank> rank = rankAt(at.row());
    if (!rank)
        return m_parameter;
    const Checkpoint& checkpoint = rank->side == Side::Before ? *m_before : *m_after;
    const QString name = rankLabel(checkpoint, ui::rankAt(checkpoint, rank->rank));
    return rank->side == Side::Before ? tr("%1 now").arg(name) : tr("%1 then").arg(name);
}

} // namespace shardscope::ui
