// SPDX-License-Identifier: Apache-2.0
#include "ui/text/padding_text.h"

#include "ui/text/rank_list.h"
#include "ui/text/text.h"

#include <QCoreApplication>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::Padding)
};

/// "2 elements", or "2 of 5 elements" where other ranks have the rest.
QString amountText(uint64_t here, uint64_t all)
{
    if (here < all)
        return Words::tr("%1 of %2 elements").arg(countText(here), countText(all));
    return here == 1 ? Words::tr("1 element") : Words::tr("%1 elements").arg(countText(here));
}

QString ranksText(const FlatPartition& partition)
{
    const uint32_t ranks = partition.ranks();
    const uint64_t factor = partition.alignment() / ranks;
    const QString text = ranks == 1 ? Words::tr("1 rank") : Words::tr("%1 ranks").arg(countText(ranks));
    return factor <= 1 ? text : Words::tr("%1 × %2").arg(factor).arg(text);
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
        return Words::tr("%1, so that %2 (%3) divides by %4")
            .arg(amountText(run.elements, all), toText(checkpoint.params[index(run.unit.params[param])].name),
                amountText(elements, elements), ranksText(partition));
    }
    const uint64_t filled = partition.paramStart(partition.paramCount());
    if (run.share * partition.partitionElements() + run.offset < filled)
        return Words::tr("%1, so that the next parameter begins at a multiple of %2")
            .arg(amountText(run.elements, run.elements))
            .arg(partition.parameterAlignment());
    return Words::tr("%1, so that %2 elements divide by %3")
        .arg(amountText(run.elements, partition.partitionElements() * partition.ranks() - filled),
            countText(filled), ranksText(partition));
}

QString paddingStorage(const PaddingRun& run)
{
    const bool present = run.share < run.state.perRank.size() && run.state.perRank[run.share].isPresent();
    if (!present)
        return Words::tr("of a missing shard");
    const bool stored = run.state.map().isFlat() && run.offset < run.state.perRank[run.share].elements;
    return stored ? Words::tr("stored in the file") : Words::tr("in no file");
}

QString paddingShare(const Checkpoint& checkpoint, const PaddingRun& run)
{
    const double share
        = static_cast<double>(run.elements) / static_cast<double>(run.unit.partition.partitionElements());
    return Words::tr("%1 of %2")
        .arg(percentText(share), rankLabel(checkpoint, checkpoint.rankOf(run.unit, run.share)));
}

QString paddingText(const Checkpoint& checkpoint, const PaddingRun& run)
{
    return paddingReason(checkpoint, run) % u"; "_s % paddingStorage(run) % u"; "_s
        % paddingShare(checkpoint, run);
}

} // namespace shardscope::ui
