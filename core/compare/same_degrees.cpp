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
        return joinParts(checkpoint, rules);
    }
    if (!isSharded(checkpoint->kind) || (rules == nullptr && !own))
        return checkpoint;
    const auto joined = joinSlices(checkpoint, rules);
    return joined && hasPadding(**joined) ? *joined : checkpoint; // else it is that already
}

/// The hint of those that write helps nobody here.
Result<CheckpointPtr> withHint(Result<CheckpointPtr> joined, const char* hint)
{
    if (!joined && joined.error().code == ErrorCode::Unsupported)
        joined.error().hint = hint;
    return joined;
}

} // namespace

Result<CheckpointPtr> inOneSlice(const CheckpointPtr& checkpoint, const SliceRules* given)
{
    return withHint(asOne(checkpoint, given, std::nullopt),
        "say it with --patterns; without --join the slices are digested as they lie");
}

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
    const auto asSingle = [&](const CheckpointPtr& of, const Checkpoint& beside) {
        return withHint(asOne(of, given, differ ? readableRules(beside) : std::nullopt),
            "say it with --patterns; without --against the files are held against their manifest");
    };
    SHARDSCOPE_TRY(CheckpointPtr first, asSingle(one, *other));
    SHARDSCOPE_TRY(CheckpointPtr second, asSingle(other, *one));
    return std::pair(std::move(first), std::move(second));
}

} // namespace shardscope
