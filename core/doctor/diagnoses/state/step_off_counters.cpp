// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardscope::diagnosis {

namespace {

/// Releases before 0.14 and engines without ZeRO count the step that creates the states, too.
constexpr double kTolerance = 1;

std::string unitText(const FlatUnit& unit)
{
    if (unit.subgroup)
        return fmt::format("sub-group {}", *unit.subgroup);
    return fmt::format("group {}", unit.group);
}

/// The steps of flat units, which the optimizer takes together.
void compareUnits(const Checkpoint& checkpoint, const std::string& file, FindingSink& sink)
{
    const FlatUnit* least = nullptr;
    const FlatUnit* most = nullptr;
    for (const FlatUnit& unit : checkpoint.units) {
        if (!unit.isFlat() || !unit.step)
            continue;
        if (least == nullptr || *unit.step < *least->step)
            least = &unit;
        if (most == nullptr || *unit.step > *most->step)
            most = &unit;
    }
    if (least == most || *least->step == *most->step)
        return;
    sink.add(Severity::Warning, "the param groups of the optimizer are not at the same step", file,
        {fmt::format("{}: {:g}", unitText(*least), *least->step),
            fmt::format("{}: {:g}", unitText(*most), *most->step)});
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
    // Ahead it is where ZenFlow once trained, or counters began anew: its moments have seen these steps.
    sink.add(*ahead > 0 ? Severity::Info : Severity::Warning,
        fmt::format("the optimizer is at step {:g}, and the engine has taken {:g}", taken + *ahead, taken),
        file, {fmt::format("global_steps {}, skipped_steps {}", *checkpoint.steps.globalSteps, skipped)});
}

/// Whether both of Adam's moments are there, and in files that have a place for the step.
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

/// Adam without a step beside its moments. Apex keeps it in the group's options.
void requireStep(const Checkpoint& checkpoint, const SavedFile& optimizer, FindingSink& sink)
{
    const bool universal = isUniversal(checkpoint.kind);
    std::vector<std::string> without;
    for (const FlatUnit& unit : checkpoint.units) {
        if ((!unit.isFlat() && !universal) || unit.step || !hasMoments(checkpoint, unit))
            continue;
        const auto group = std::find_if(checkpoint.groups.begin(), checkpoint.groups.end(),
            [&](const ParamGroup& g) { return static_cast<int32_t>(g.index) == unit.group; });
        if (group != checkpoint.groups.end() && lookup(*optimizer.graph, group->options, "step") != kNoNode)
            continue;
        without.push_back(unitText(unit));
    }
    if (!without.empty())
        sink.add(Severity::Warning, "moments of Adam are there, and no step beside them",
            optimizer.file->name, std::move(without));
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const SavedFile optimizer = savedOptimizer(checkpoint);
    const SavedFile model = savedModel(checkpoint);
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

/// All ranks agree on a step that the engine's counters cannot have led to, or groups differ.
extern const Diagnosis kStepOffCounters;
const Diagnosis kStepOffCounters{
    .code = "step-off-counters",
    .letter = "S6",
    .name = "The optimizer's step is not the engine's",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed takes the optimizer's step as it stands, silently.",
        .resuming = "Without any step the first update stops with a KeyError. Else bias correction is that "
                    "of the other step, so that updates have another size than they had; a step that began "
                    "anew says that the moments did, too.",
        .exporting = "Weights are not touched."},
    .remedy = "set the step that the counters give, unless the optimizer was begun anew on purpose",
    .repairs = true,
    .threads = "DS#5263, DS#4396, MDS#248, DS#1823, DS#7786, DS#7586",
    .look = look,
};

} // namespace shardscope::diagnosis
