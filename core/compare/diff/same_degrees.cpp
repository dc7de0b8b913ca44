// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/same_degrees.h"

#include "core/layout/slices/split_slices.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Empty if they cannot be read; merging then reports it.
std::optional<SliceRules> readableRules(const Checkpoint& checkpoint)
{
    auto rules = recordedRules(checkpoint);
    return rules ? std::move(*rules) : std::nullopt;
}

bool hasPadding(const Checkpoint& merged)
{
    const auto& marks = merged.merged->marks;
    return std::any_of(
        marks.begin(), marks.end(), [](const UniversalMarks& mark) { return mark.paddingRows > 0; });
}

/// A checkpoint with one slice of one stage, without the padding of its vocabulary.
Result<CheckpointPtr> asOne(
    const CheckpointPtr& checkpoint, const SliceRules* given, const std::optional<SliceRules>& ofOther)
{
    if (checkpoint->modelError || !checkpoint->isReadable(checkpoint->templateModel))
        return checkpoint; // nothing to merge; damage is reported elsewhere
    const std::optional<SliceRules> own = readableRules(*checkpoint);
    const SliceRules* rules = given != nullptr ? given : !own && ofOther ? &*ofOther : nullptr;
    if (!checkpoint->parts.empty()) {
        return mergeSlicesAndStages(checkpoint, rules);
    }
    if (!isSharded(checkpoint->kind) || (rules == nullptr && !own))
        return checkpoint;
    const auto merged = mergeSlices(checkpoint, rules);
    return merged && hasPadding(**merged) ? *merged : checkpoint; // else it already is that
}

/// Not if tied modules are on other stages, because the same number of stages has other layers.
bool haveSameNames(const Checkpoint& one, const Checkpoint& other)
{
    return one.params.size() == other.params.size()
        && std::all_of(one.params.begin(), one.params.end(),
            [&](const Parameter& param) { return other.findParam(param.name).has_value(); });
}

/// Replaces the hint, which is only for verbs that write.
Result<CheckpointPtr> withHint(Result<CheckpointPtr> merged, const char* hint)
{
    if (!merged && merged.error().code == ErrorCode::Unsupported)
        merged.error().hint = hint;
    return merged;
}

} // namespace

Result<CheckpointPtr> inOneSlice(const CheckpointPtr& checkpoint, const SliceRules* given)
{
    return withHint(asOne(checkpoint, given, std::nullopt),
        "specify it with --patterns; without --join the slices are digested separately");
}

Result<std::pair<CheckpointPtr, CheckpointPtr>> inSameDegrees(
    const CheckpointPtr& one, const CheckpointPtr& other, const SliceRules* given)
{
    const ParallelDegrees& here = one->parallel;
    const ParallelDegrees& there = other->parallel;
    const bool alike = here.tp == there.tp && here.pp == there.pp;
    if (alike && (here.pp == 1 || haveSameNames(*one, *other)))
        return std::pair(one, other);
    const bool differ = here.tp != there.tp; // only then slices are merged, and padding matters
    const auto asSingle = [&](const CheckpointPtr& of, const Checkpoint& partner) {
        return withHint(asOne(of, given, differ ? readableRules(partner) : std::nullopt),
            "specify it with --patterns; without --against the files are compared with their manifest");
    };
    auto first = asSingle(one, *other);
    auto second = asSingle(other, *one);
    if (alike && !(first && second)) // they differ in more than the layers of their stages
        return std::pair(one, other);
    SHARDSCOPE_TRY(CheckpointPtr left, std::move(first));
    SHARDSCOPE_TRY(CheckpointPtr right, std::move(second));
    return std::pair(std::move(left), std::move(right));
}

} // namespace shardscope
