// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/same_degrees.h"

#include "core/checkpoint/slices/cut_slices.h"

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
    if (checkpoint->modelError || !checkpoint->isReadable(checkpoint->templateModel))
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

/// Not where tied modules lie on other stages, as other layers of as many stages make them.
bool haveSameNames(const Checkpoint& one, const Checkpoint& other)
{
    return one.params.size() == other.params.size()
        && std::all_of(one.params.begin(), one.params.end(),
            [&](const Parameter& param) { return other.findParam(param.name).has_value(); });
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
    const bool alike = here.tp == there.tp && here.pp == there.pp;
    if (alike && (here.pp == 1 || haveSameNames(*one, *other)))
        return std::pair(one, other);
    const bool differ = here.tp != there.tp; // only then slices are joined, and padding counts
    const auto asSingle = [&](const CheckpointPtr& of, const Checkpoint& beside) {
        return withHint(asOne(of, given, differ ? readableRules(beside) : std::nullopt),
            "say it with --patterns; without --against the files are held against their manifest");
    };
    auto first = asSingle(one, *other);
    auto second = asSingle(other, *one);
    if (alike && !(first && second)) // they differ in more than their stages' layers
        return std::pair(one, other);
    SHARDSCOPE_TRY(CheckpointPtr left, std::move(first));
    SHARDSCOPE_TRY(CheckpointPtr right, std::move(second));
    return std::pair(std::move(left), std::move(right));
}

} // namespace shardscope
