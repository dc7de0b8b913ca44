// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/scalar_text.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardscope::diagnosis {

namespace {

constexpr double kRelative = 1e-6;

std::vector<double> numbersOf(const TorchFile& file, NodeId list)
{
    std::vector<double> out;
    for (const NodeId item : sequenceItems(file.pickle(), list)) {
        const auto number = numberOf(file, item);
        if (!number)
            return {};
        out.push_back(*number);
    }
    return out;
}

/// Learning rates of the param groups in the optimizer's file; empty where it has none.
std::vector<double> ratesOf(const Checkpoint& checkpoint)
{
    const OptimStates optimizer = optimStates(checkpoint);
    if (!optimizer)
        return {};
    std::vector<double> out;
    for (const ParamGroup& group : checkpoint.groups) {
        const auto rate
            = numberOf(*optimizer.file->content, readGroupOptions(*optimizer.graph, group.options).lr);
        if (!rate)
            return {};
        out.push_back(*rate);
    }
    return out;
}

/// torch's schedulers keep the rates that they set last. These must be the rates of the groups.
void compareRates(const Checkpoint& checkpoint, const ModelStates& model, FindingSink& sink)
{
    const std::vector<double> set = numbersOf(*model.file->content, schedulerState(model).lastRates);
    const std::vector<double> kept = ratesOf(checkpoint);
    if (set.empty() || set.size() != kept.size())
        return; // a scheduler of other groups
    std::vector<std::string> evidence;
    for (size_t i = 0; i < set.size(); ++i) {
        if (std::fabs(set[i] - kept[i]) > kRelative * std::max(std::fabs(set[i]), std::fabs(kept[i])))
            evidence.push_back(
                fmt::format("group {}: the scheduler set {:g}, the group has {:g}", i, set[i], kept[i]));
    }
    if (!evidence.empty() && hasStateNamed(checkpoint, "sum"))
        evidence.emplace_back("stock ZeRO recreates torch's Adagrad with its defaults (stage_1_and_2.py, "
                              "initialize_optimizer_states): the scheduler does not set its rates");
    if (!evidence.empty())
        sink.add(Severity::Warning, "the learning rates of param groups are not those that the scheduler set",
            model.file->name, std::move(evidence));
}

/// DeepSpeed's own schedulers (runtime/lr_schedules.py) count from -1, one for every step that the engine
/// did not skip.
void compareCounts(const Checkpoint& checkpoint, const ModelStates& model, FindingSink& sink)
{
    const auto last = asInteger(*model.graph, schedulerState(model).lastBatchIteration);
    if (!last || !checkpoint.steps.globalSteps || isOfZenflow(checkpoint))
        return;
    const int64_t taken = *checkpoint.steps.globalSteps - checkpoint.steps.skippedSteps.value_or(0);
    if (*last >= taken - 2 && *last <= taken)
        return;
    sink.add(Severity::Warning,
        fmt::format("the scheduler is at step {}, and the engine has taken {}", *last + 1, taken),
        model.file->name, {fmt::format("last_batch_iteration {}", *last)});
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const ModelStates model = modelStates(*context.checkpoint);
    if (!model)
        return {};
    compareRates(*context.checkpoint, model, sink);
    compareCounts(*context.checkpoint, model, sink);
    return {};
}

} // namespace

/// A scheduler's count or rates differ from the engine's steps and the groups' rates.
extern const Diagnosis kScheduleDiscontinuity;
const Diagnosis kScheduleDiscontinuity{
    .code = "schedule-discontinuity",
    .letter = "S16",
    .name = "The schedule jumps",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads scheduler and rates unchanged, silently.",
        .resuming = "The learning rate of the next step is wrong: a scheduler computes it from its own "
                    "count, or from the rate of the group.",
        .exporting = "Weights are not affected."},
    .remedy = "set the scheduler's count to the engine's and the rates to those that the scheduler set, "
              "unless they were changed on purpose; use `repair --set` for other values",
    .repairs = true,
    .threads = "DS#5788, gpt-neox#1029, HF#25865, THUDM/slime#1546",
    .look = look,
};

} // namespace shardscope::diagnosis
