// SPDX-License-Identifier: Apache-2.0
#include "ui/text/padding_text.h"

#include "ui/text/rank_list.h"
#include "ui/text/text.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// "2 elements", or "2 of 5 elements" where other ranks have the rest.
QString amountText(uint64_t here, uint64_t all)
{
    if (here < all)
        return u"%1 of %2 elements"_s.arg(countText(here), countText(all));
    return here == 1 ? u"1 element"_s : u"%1 elements"_s.arg(countText(here));
}

QString ranksText(const FlatPartition& partition)
{
    const uint32_t ranks = partition.ranks();
    const uint64_t factor = partition.alignment() / ranks;
    const QString text = ranks == 1 ? u"1 rank"_s : u"%1 ranks"_s.arg(countText(ranks));
    return factor <= 1 ? text : u"%1 × %2"_s.arg(factor).arg(text);
}

} // namespace

std::optional<PaddingRun> paddingAt(
    const FlatUnit& unit, const UnitState& state, uint32_t share, uint64_t element)
{
    const auto piece = unit.partition.pieceAt(share, element);
    if (!piece || !piece->isPadding())
        return std::nullopt;
    return PaddingRun{unit, state, share, piece->flatOffset, piece->elements};
}

QString paddingReason(const Checkpoint& checkpoint, const PaddingRun& run)
{
    const FlatPartition& partition = run.unit.partition;
    if (partition.rule() == PartitionRule::Sliced) {
        const uint32_t param = partition.paramNear(run.share, run.offset);
        if (param == FlatPiece::kPadding)
            return amountText(run.elements, run.elements);
        const uint64_t elements = partition.paramElements(param);
        const uint64_t all = partition.sliceElements(param) * partition.ranks() - elements;
        return u"%1, so that %2 (%3) divides by %4"_s.arg(amountText(run.elements, all),
            toText(checkpoint.params[index(run.unit.params[param])].name), amountText(elements, elements),
            ranksText(partition));
    }
    const uint64_t filled = partition.paramStart(partition.paramCount());
    if (run.share * partition.partitionElements() + run.offset < filled)
        return u"%1, so that the next parameter begins at a multiple of %2"_s
            .arg(amountText(run.elements, run.elements))
            .arg(partition.parameterAlignment());
    return u"%1, so that %2 elements divide by %3"_s.arg(
        amountText(run.elements, partition.partitionElements() * partition.ranks() - filled),
        countText(filled), ranksText(partition));
}

QString paddingStorage(const PaddingRun& run)
{
    const bool present = run.share < run.state.perRank.size() && run.state.perRank[run.share].isPresent();
    if (!present)
        return u"of a missing shard"_s;
    const bool stored = run.state.map().isFlat() && run.offset < run.state.perRank[run.share].elements;
    return stored ? u"stored in the file"_s : u"in no file"_s;
}

QString paddingShare(const Checkpoint& checkpoint, const PaddingRun& run)
{
    const double share
        = static_cast<double>(run.elements) / static_cast<double>(run.unit.partition.partitionElements());
    return u"%1 of %2"_s.arg(
        percentText(share), rankLabel(checkpoint, checkpoint.rankOf(run.unit, run.share)));
}

QString paddingText(const Checkpoint& checkpoint, const PaddingRun& run)
{
    return paddingReason(checkpoint, run) % u"; "_s % paddingStorage(run) % u"; "_s
        % paddingShare(checkpoint, run);
}

} // namespace shardscope::ui
