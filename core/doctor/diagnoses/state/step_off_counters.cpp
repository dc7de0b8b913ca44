// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardscope::diagnosis {

namespace {

/// Releases before 0.14 and engines without ZeRO also count the step that creates the states.
constexpr double kTolerance = 1;

std::string unitText(const FlatUnit& unit)
{
    if (unit.subgroup)
        return fmt::format("sub-group {}", *unit.subgroup);
    return fmt::format("group {}", unit.group);
}

/// The steps of flat units must be equal: the optimizer updates them together.
void compareUnits(const Checkpoint& checkpoint, const std::string& file, FindingSink& sink)
{
    const FlatUnit* first = nullptr;
    const FlatUnit* last = nullptr;
    for (const FlatUnit& unit : checkpoint.units) {
        if (!unit.isFlat() || !unit.step)
            continue;
        if (first == nullptr || *unit.step < *first->step)
            first = &unit;
        if (last == nullptr || *unit.step > *last->step)
            last = &unit;
    }
    if (first == last || *first->step == *last->step)
        return;
    sink.add(Severity::Warning, "the param groups of the optimizer are not at the same step", file,
        {fmt::format("{}: {:g}", unitText(*first), *first->step),
            fmt::format("{}: {:g}", unitText(*last), *last->step)});
}

void compareCounters(const Checkpoint& checkpoint, const std::string& file, FindingSink& sink)
{
    if (!checkpoint.steps.globalSteps || isOfZenflow(checkpoint))
        return;
    const auto ahead = stepsAhead(checkpoint);
    if (!ahead || std::fabs(*ahead) <= kTolerance)
        return;
    const int64_t skipped = checkpoint.steps.skippedSteps.value_or(0);
    const auto taken = static_cast<double>(*checkpoint.steps.globalSteps - skipped);
    // It is ahead after ZenFlow training, or where counters were reset: the moments include these steps.
    sink.add(*ahead > 0 ? Severity::Info : Severity::Warning,
        fmt::format("the optimizer is at step {:g}, and the engine has taken {:g}", taken + *ahead, taken),
        file, {fmt::format("global_steps {}, skipped_steps {}", *checkpoint.steps.globalSteps, skipped)});
}

/// Whether both of Adam's moments are there, in files that can store the step.
bool hasMoments(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    size_t moments = 0;
    for (const UnitState& state : unit.states) {
        const bool stored = !state.perRank.empty() && state.perRank.front().isPresent()
            && checkpoint.file(state.perRank.front().file).role != FileRole::Swap;
        moments += stored && (state.name == "exp_avg" || state.name == "exp_avg_sq") ? 1 : 0;
    }
    return moments == 2;
}

/// Reports Adam moments without a step. Apex keeps the step in the group's options.
void requireStep(const Checkpoint& checkpoint, const OptimStates& optimizer, FindingSink& sink)
{
    const bool universal = isUniversal(checkpoint.kind);
    std::vector<std::string> without;
    for (const FlatUnit& unit : checkpoint.units) {
        if ((!unit.isFlat() && !universal) || unit.step || !hasMoments(checkpoint, unit))
            continue;
        const auto group = std::find_if(checkpoint.groups.begin(), checkpoint.groups.end(),
            [&](const ParamGroup& g) { return static_cast<int32_t>(g.index) == unit.group; });
        if (group != checkpoint.groups.end()
            && readGroupOptions(*optimizer.graph, group->options).step != kNoNode)
            continue;
        without.push_back(unitText(unit));
    }
    if (!without.empty())
        sink.add(Severity::Warning, "moments of Adam are there, but their step is missing",
            optimizer.file->name, std::move(without));
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const OptimStates optimizer = optimStates(checkpoint);
    const ModelStates model = modelStates(checkpoint);
    const std::string file = optimizer.file != nullptr ? optimizer.file->name
        : model.file != nullptr                        ? model.file->name
                                                       : std::string();
    if (optimizer)
        requireStep(checkpoint, optimizer, sink);
    compareUnits(checkpoint, file, sink);
    compareCounters(checkpoint, file, sink);
    return {};
}

} // namespace

/// All ranks agree on a step that contradicts the engine's counters, or groups differ.
extern const Diagnosis kStepOffCounters;
const Diagnosis kStepOffCounters{
    .code = "step-off-counters",
    .letter = "S6",
    .name = "The optimizer's step is not the engine's",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed uses the optimizer's step unchanged, silently.",
        .resuming = "Without any step the first update stops with a KeyError. Otherwise bias correction uses "
                    "the wrong step, which changes the size of updates. If the step was reset, the moments "
                    "were probably reset too.",
        .exporting = "Weights are not affected."},
    .remedy = "set the step that the counters give, unless the optimizer was reset on purpose",
    .repairs = true,
    .threads = "DS#5263, DS#4396, MDS#248, DS#1823, DS#7786, DS#7586",
    .look = look,
};

} // namespace shardscope::diagnosis
