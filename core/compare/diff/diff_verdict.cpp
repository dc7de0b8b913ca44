// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/diff_causes.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

bool isBookkeeping(const ScalarDifference& scalar)
{
    const ScalarKind kind = scalar.left.kind;
    return kind == ScalarKind::Counter || kind == ScalarKind::ClientState;
}

/// Differences of the training state itself, without copies of masters.
template <class Test>
bool allStates(const StateDiff& diff, const Test& test)
{
    return std::all_of(diff.params.begin(), diff.params.end(), [&](const ParamDifference& param) {
        return std::all_of(param.states.begin(), param.states.end(),
            [&](const StateDifference& state) { return state.state.isCopy || test(state.values); });
    });
}

bool isStructural(const ParamDifference& param)
{
    return !param.param.isPaired() || !param.param.sameShape;
}

bool lacksStates(const ParamDifference& param)
{
    return !param.param.onlyLeft.empty() || !param.param.onlyRight.empty() || !param.partial.empty();
}

bool isAlike(const ParamDifference& param)
{
    if (!param.update) // the step is unknown: compare only the values
        return std::all_of(param.states.begin(), param.states.end(), [](const StateDifference& state) {
            return state.state.isCopy || (state.values.notFinite == 0 && state.values.relativeL2() < 1e-6);
        });
    const bool finite = std::all_of(param.states.begin(), param.states.end(),
        [](const StateDifference& state) { return state.values.notFinite == 0; });
    return finite && param.update->withoutGradient < kAlikeStep && param.update->withUnitGradient < kAlikeStep
        && param.update->weightsApart < kAlikeStep;
}

} // namespace

std::string_view verdictName(DiffVerdict verdict)
{
    switch (verdict) {
    case DiffVerdict::Same:
        return "same-training-state";
    case DiffVerdict::SameInPart:
        return "same-in-part";
    case DiffVerdict::Padding:
        return "different-in-padding";
    case DiffVerdict::Bookkeeping:
        return "different-in-bookkeeping";
    case DiffVerdict::LastBit:
        return "different-in-last-bit";
    case DiffVerdict::Alike:
        return "will-train-alike";
    case DiffVerdict::Different:
        return "will-train-differently";
    case DiffVerdict::NotComparable:
        break;
    }
    return "not-comparable";
}

DiffVerdict verdictOf(const StateDiff& diff, bool paddingDiffers)
{
    const auto structural
        = static_cast<uint64_t>(std::count_if(diff.params.begin(), diff.params.end(), isStructural));
    if (structural > diff.parameters)
        return DiffVerdict::NotComparable;
    const bool onlyBookkeeping
        = std::all_of(diff.scalarDifferences.begin(), diff.scalarDifferences.end(), isBookkeeping);
    const bool lacking = std::any_of(diff.params.begin(), diff.params.end(), lacksStates);
    if (structural > 0 || lacking || !onlyBookkeeping)
        return DiffVerdict::Different;
    if (allStates(diff, [](const Comparison& values) { return values.areEqual(); })) {
        if (!diff.notCompared.isEmpty())
            return DiffVerdict::SameInPart;
        if (!diff.scalarDifferences.empty())
            return DiffVerdict::Bookkeeping;
        return paddingDiffers ? DiffVerdict::Padding : DiffVerdict::Same;
    }
    if (allStates(diff, [](const Comparison& values) { return values.different == values.lastBit; }))
        return DiffVerdict::LastBit;
    return std::all_of(diff.params.begin(), diff.params.end(), isAlike) ? DiffVerdict::Alike
                                                                        : DiffVerdict::Different;
}

namespace {

/// "the left side lacks"; empty if a side has no element of a state.
std::string lackingSide(const StateDiff& diff)
{
    bool left = false;
    bool right = false;
    for (const ParamDifference& param : diff.params) {
        if (!param.param.onlyLeft.empty() || !param.param.onlyRight.empty())
            return {};
        for (const PartialState& state : param.partial) {
            left = left || state.side == DiffSide::Left;
            right = right || state.side == DiffSide::Right;
        }
    }
    return left && right ? "each side lacks" : left ? "the left side lacks" : "the right side lacks";
}

std::string textOf(DiffVerdict verdict, const StateDiff& diff)
{
    switch (verdict) {
    case DiffVerdict::Same:
        return "the same training state";
    case DiffVerdict::SameInPart:
        return "what was compared is the same";
    case DiffVerdict::Padding:
        return "the same training state; only padding bytes in the buffers differ, which are never read";
    case DiffVerdict::Bookkeeping:
        return "the same weights, optimizer states and options; only counters or client state differ";
    case DiffVerdict::LastBit:
        return "values differ in their last bit, as after another order of sums: will train alike";
    case DiffVerdict::Alike:
        return fmt::format(
            "will train alike: weights and next steps are less than {} of a step apart", kAlikeStep);
    case DiffVerdict::Different:
        break;
    case DiffVerdict::NotComparable:
        return "parameters or shapes differ: these are not two states of one model";
    }
    double most = 0;
    for (const ParamDifference& param : diff.params) {
        if (param.update)
            most = std::max({most, param.update->withoutGradient, param.update->withUnitGradient});
    }
    if (most > 0)
        return fmt::format(
            "will train differently: the next step of a parameter differs by up to {:.2g} of its length",
            most);
    const bool onlyLacks = diff.scalarDifferences.empty()
        && std::all_of(diff.params.begin(), diff.params.end(), [](const ParamDifference& param) {
               return !isStructural(param) && param.states.empty() && lacksStates(param);
           });
    if (!onlyLacks)
        return "will train differently";
    const std::string side = lackingSide(diff);
    return side.empty() ? "not the same: a side lacks a part of the state"
                        : "what was compared is the same, but " + side + " a part of the state";
}

} // namespace

std::string verdictText(DiffVerdict verdict, const StateDiff& diff)
{
    const bool exact = verdict == DiffVerdict::Same || verdict == DiffVerdict::SameInPart
        || verdict == DiffVerdict::Padding;
    std::string out = diff.matches() && !exact ? "the same within the tolerance" : textOf(verdict, diff);
    const NotCompared& left = diff.notCompared;
    const std::string tensors
        = fmt::format("{} {}", formatCount(left.tensors), left.tensors == 1 ? "tensor" : "tensors");
    if (left.elements > 0)
        return out
            + fmt::format("; in {} {} elements were not compared", tensors, formatCount(left.elements));
    if (left.tensors > 0)
        return out + fmt::format("; {} were not compared", tensors);
    return left.isEmpty() ? out : out + "; not all of the state was compared";
}

} // namespace shardscope
