// SPDX-License-Identifier: Apache-2.0
#include "core/compare/same_degrees.h"

#include "core/checkpoint/cut_slices.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Nothing where they cannot be read, which joining tells.
std::optional<SliceRules> readableRules(const Checkpoint& checkpoint)
{
    auto rules = recordedRules(checkpoint);
    return rules ? std::move(*rules) : std::nullopt;
}

bool hasPadding(const Checkpoint& joined)
{
    const auto& marks = joined.joined->marks;
    return std::any_of(
        marks.begin(), marks.end(), [](const UniversalMarks& mark) { return mark.paddingRows > 0; });
}

/// A checkpoint with one slice of one stage, without the padding of its vocabulary.
Result<CheckpointPtr> asOne(
    const CheckpointPtr& checkpoint, const SliceRules* given, const std::optional<SliceRules>& ofOther)
{
    if (checkpoint->modelError || !checkpoint->isReadable(checkpoint->rank0Model))
        return checkpoint; // nothing to join; what is damaged is said elsewhere
    const std::optional<SliceRules> own = readableRules(*checkpoint);
    const SliceRules* rules = given != nullptr ? given : !own && ofOther ? &*ofOther : nullptr;
    if (!checkpoint->parts.empty()) {
        auto joined = joinParts(checkpoint, rules);
        if (!joined && joined.error().code == ErrorCode::Unsupported) // its hint is for those who write
            joined.error().hint
                = "say it with --patterns; without --against the files are held against their "
                  "manifest";
        return joined;
    }
    if (!isSharded(checkpoint->kind) || (rules == nullptr && !own))
        return checkpoint;
    const auto joined = joinSlices(checkpoint, rules);
    return joined && hasPadding(**joined) ? *joined : checkpoint; // else it is that already
}

} // namespace

Result<std::pair<CheckpointPtr, CheckpointPtr>> inSameDegrees(
    const CheckpointPtr& one, const CheckpointPtr& other, const SliceRules* given)
{
    const ParallelDegrees& here = one->parallel;
    const ParallelDegrees& there = other->parallel;
    if (here.tp == there.tp && here.pp == there.pp)
        return std::pair(one, other);
    if (here.pp > 1 && there.pp > 1)
        return fail(ErrorCode::Unsupported,
            "a checkpoint of tp " + std::to_string(here.tp) + ", pp " + std::to_string(here.pp)
                + " is not compared with one of tp " + std::to_string(there.tp) + ", pp "
                + std::to_string(there.pp),
            one->tagFolder.string(), "without --against the files are held against their manifest");
    const bool differ = here.tp != there.tp; // only then slices are joined, and padding counts
    SHARDSCOPE_TRY(CheckpointPtr first, asOne(one, given, differ ? readableRules(*other) : std::nullopt));
    SHARDSCOPE_TRY(CheckpointPtr second, asOne(other, given, differ ? readableRules(*one) : std::nullopt));
    return std::pair(std::move(first), std::move(second));
}

} // namespace shardscope
