// SPDX-License-Identifier: Apache-2.0
#include "ui/text/rank_list.h"

#include "core/layout/whole_units.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

uint32_t dataRanks(const Checkpoint& checkpoint)
{
    return std::max(1u, checkpoint.parallel.dp);
}

} // namespace

uint32_t rankCount(const Checkpoint& checkpoint)
{
    if (isUniversal(
            checkpoint.kind)) // only frozen parameters of ZeRO-3 are still split; their units are last
        return checkpoint.units.empty() || checkpoint.units.back().kind != UnitKind::Frozen
            ? 0
            : checkpoint.units.back().partition.ranks();
    return checkpoint.parts.empty() ? checkpoint.parallel.dp
                                    : static_cast<uint32_t>(checkpoint.parts.size()) * checkpoint.parallel.dp;
}

RankCoordinate rankAt(const Checkpoint& checkpoint, uint32_t number)
{
    if (checkpoint.parts.empty())
        return {number, 0, 0};
    const RankCoordinate& place = partOfRank(checkpoint, number).place;
    return {number % dataRanks(checkpoint), place.tp, place.pp};
}

uint32_t rankNumber(const Checkpoint& checkpoint, const RankCoordinate& rank)
{
    for (uint32_t part = 0; part < checkpoint.parts.size(); ++part) {
        const RankCoordinate& place = checkpoint.parts[part]->place;
        if (place.tp == rank.tp && place.pp == rank.pp)
            return part * dataRanks(checkpoint) + rank.dp;
    }
    return rank.dp;
}

std::optional<uint32_t> rankOfFile(const Checkpoint& checkpoint, const CheckpointFile& file)
{
    if (!file.rank || (isUniversal(checkpoint.kind) && rankCount(checkpoint) == 0))
        return std::nullopt;
    return rankNumber(checkpoint, *file.rank);
}

std::optional<uint32_t> rowOfRank(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t number)
{
    if (isStoredWhole(unit))
        return std::nullopt;
    if (!unit.isFlat()) // drawn separately: frozen parameters, and tensors split by rows
        return number < unit.partition.ranks() ? std::optional(number) : std::nullopt;
    return number < rankCount(checkpoint) ? checkpoint.shareOf(unit, rankAt(checkpoint, number))
                                          : std::nullopt;
}

uint32_t rankOfRow(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t row)
{
    return unit.isFlat() ? rankNumber(checkpoint, checkpoint.rankOf(unit, row)) : row;
}

QString rankLabel(const Checkpoint& checkpoint, const RankCoordinate& rank)
{
    QString label = u"dp %1"_s.arg(rank.dp);
    if (checkpoint.parallel.tp > 1)
        label = u"tp %1 · "_s.arg(rank.tp) + label;
    if (checkpoint.parallel.pp > 1)
        label = u"pp %1 · "_s.arg(rank.pp) + label;
    return label;
}

const Checkpoint& partOfRank(const Checkpoint& checkpoint, uint32_t number)
{
    if (checkpoint.parts.empty())
        return checkpoint;
    const size_t part = number / dataRanks(checkpoint);
    return *checkpoint.parts[std::min(part, checkpoint.parts.size() - 1)];
}

} // namespace shardscope::ui
