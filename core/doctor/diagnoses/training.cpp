// SPDX-License-Identifier: Apache-2.0
// Diagnoses of counters, schedules, options and kinds of optimizers.
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/doctor/diagnosis_tables.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace shardscope {

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
        {fmt::format("{}: {}", unitText(*first), *first->step),
            fmt::format("{}: {}", unitText(*last), *last->step)});
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
        fmt::format("the optimizer is at step {}, and the engine has taken {}", taken + *ahead, taken), file,
        {fmt::format("global_steps {}, skipped_steps {}", *checkpoint.steps.globalSteps, skipped)});
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

Status findStepOffCounters(const CheckContext& context, FindingSink& sink)
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

/// All ranks agree on a step that contradicts the engine's counters, or groups differ.
constexpr Diagnosis kStepOffCounters{
    .code = "step-off-counters",
    .letter = "S6",
    .name = "The optimizer's step is not the engine's",
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
    .look = findStepOffCounters,
};

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
                fmt::format("group {}: the scheduler set {}, the group has {}", i, set[i], kept[i]));
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

Status findScheduleDiscontinuity(const CheckContext& context, FindingSink& sink)
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

/// A scheduler's count or rates differ from the engine's steps and the groups' rates.
constexpr Diagnosis kScheduleDiscontinuity{
    .code = "schedule-discontinuity",
    .letter = "S16",
    .name = "The schedule jumps",
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
    .look = findScheduleDiscontinuity,
};

constexpr size_t kMaxNamed = 8;

Status findRngGap(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || context.checkpoint->wrapper.empty())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    // A universal folder is for any number of ranks: the saved number is not relevant.
    if (isUniversal(checkpoint.kind) && !context.target.worldSize)
        return {};
    std::set<std::string_view> there;
    for (const CheckpointFile& file : checkpoint.files) {
        if (!isNextToTag(file.name) || file.status != FileStatus::Ok)
            continue;
        const std::string_view name = std::string_view(file.name).substr(kNextToTag.size());
        if (randomStatesRank(checkpoint.wrapper, name))
            there.insert(name);
    }
    if (there.empty())
        return {}; // the wrapper is configured not to save them, or has none
    const uint32_t ranks = context.target.worldSize.value_or(checkpoint.parallel.ranks());
    size_t count = 0;
    std::vector<std::string> missing;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        std::string name = randomStatesName(checkpoint.wrapper, rank, ranks);
        if (!there.contains(name) && ++count <= kMaxNamed)
            missing.push_back(std::string(kNextToTag) + std::move(name));
    }
    if (count == 0)
        return {};
    const std::string first = missing.front();
    const bool known = isWrittenByShardscope(context) && !context.target.worldSize;
    sink.add(known ? Severity::Info : Severity::Warning,
        "random states of " + std::to_string(count) + " of " + std::to_string(ranks) + " ranks are missing",
        first, std::move(missing));
    return {};
}

/// Fewer files of random states than ranks.
constexpr Diagnosis kRngGap{
    .code = "rng-gap",
    .letter = "S17",
    .name = "Random states of some ranks are missing",
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "It loads; wrappers log at most one line.",
        .resuming = "Ranks without a file continue with the random states of a new process: dropout and "
                    "augmentation repeat earlier values, or are equal on several ranks.",
        .exporting = "Weights are not affected."},
    .noRemedy = "streams that were not saved cannot be computed; choose a seed per rank",
    .threads = "TensorAuto/OpenTau#180, HF#14994, DS#8460, MLM#6858",
    .look = findRngGap,
};

std::string listOf(const std::set<std::string>& names)
{
    std::string out;
    for (const std::string& name : names)
        out += (out.empty() ? "`" : ", `") + name + "`";
    return out;
}

Status findUnknownOptimizerKeys(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !hasRankFiles(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    std::set<std::string> others;
    bool lacksAdams = false;
    for (const FlatUnit& unit : checkpoint.units) {
        if (!unit.isFlat() || unit.states.size() < 2)
            continue;
        size_t adams = 0;
        for (const UnitState& state : unit.states) {
            if (state.name == "exp_avg" || state.name == "exp_avg_sq")
                ++adams;
            else if (state.name != "fp32")
                others.insert(state.name);
        }
        lacksAdams = lacksAdams || adams < 2;
    }
    if (others.empty() && !lacksAdams)
        return {};
    const OptimStates optimizer = optimStates(checkpoint);
    std::vector<std::string> evidence;
    if (!others.empty())
        evidence.push_back("states besides the masters: " + listOf(others));
    evidence.emplace_back(lacksAdams
            ? "ds_to_universal reads `exp_avg` and `exp_avg_sq` of every group, and stops with a KeyError"
            : "ds_to_universal reads `exp_avg` and `exp_avg_sq`, and leaves out the rest");
    sink.add(Severity::Info, "the optimizer's states are not Adam's",
        optimizer.file == nullptr ? std::string() : optimizer.file->name, std::move(evidence));
    return {};
}

/// States that the stock converter does not know.
constexpr Diagnosis kUnknownOptimizerKeys{
    .code = "unknown-optimizer-keys",
    .letter = "S5",
    .name = "An optimizer that is not Adam",
    .worst = Severity::Info,
    .means = {.loading = "It loads into the same optimizer.",
        .resuming
        = "At another number of ranks only through this program: the stock converter supports only Adam."},
    .remedy = "use `reshard`, which copies states with any name",
    .threads = "DS#8608, DS#7746",
    .look = findUnknownOptimizerKeys,
};

constexpr std::array<std::pair<std::string_view, NodeId GroupOptions::*>, 4> kOptions{
    {{"lr", &GroupOptions::lr}, {"weight_decay", &GroupOptions::weightDecay}, {"betas", &GroupOptions::betas},
        {"eps", &GroupOptions::eps}}};

Status findGroupCollapse(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !isUniversal(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const OptimStates optimizer = optimStates(checkpoint);
    if (!optimizer || checkpoint.groups.size() < 2)
        return {};
    const PickleGraph& graph = *optimizer.graph;
    std::vector<std::string> evidence;
    const auto textOf = [&](const ParamGroup& group, NodeId GroupOptions::*option) {
        const NodeId node = readGroupOptions(graph, group.options).*option;
        if (node == kNoNode)
            return std::string();
        const auto number = looksLikeTensor(graph, node) ? numberOf(*optimizer.file->content, node)
                                                         : std::optional<double>();
        if (!number)
            return nodeText(graph, node);
        // The digits that the tensor's own type needs: 0.0001, not 9.999999747378752e-05.
        const auto single = static_cast<float>(*number);
        const auto tensor = asTensor(graph, node);
        return tensor && tensor->dtype == DType::Float32 ? fmt::format("{}", single) : shortRealText(*number);
    };
    for (size_t i = 1; i < checkpoint.groups.size(); ++i) {
        for (const auto& [key, option] : kOptions) {
            const std::string first = textOf(checkpoint.groups[0], option);
            const std::string own = textOf(checkpoint.groups[i], option);
            if (!own.empty() && !first.empty() && own != first)
                evidence.push_back("group " + std::to_string(checkpoint.groups[i].index) + " has "
                    + std::string(key) + " " + own + ", group 0 has " + first);
        }
    }
    if (evidence.empty())
        return {};
    const bool wanted = context.target.stage == 3;
    sink.add(wanted ? Severity::Warning : Severity::Info,
        wanted ? "ZeRO-3 of stock DeepSpeed gives all param groups the options of group 0"
               : "param groups have different options, which stock DeepSpeed keeps except in ZeRO-3",
        optimizer.file->name, std::move(evidence));
    return {};
}

/// A universal folder with different param groups: ZeRO-3 reads the options of the first for all.
constexpr Diagnosis kGroupCollapse{
    .code = "group-collapse",
    .letter = "S7",
    .name = "ZeRO-3 would merge the options of param groups",
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "Stages 1 and 2 give every group its own options. Stage 3 gives all groups those of "
                         "group 0, silently.",
        .resuming = "In stage 3 learning rates, weight decay and betas are those of group 0 for all "
                    "parameters; a scheduler may correct the learning rates, but nothing else.",
        .exporting = "Weights are not affected."},
    .remedy = "reshard it to ZeRO-3: its own files keep the options of every group",
    .command = reshardCommand,
    .threads = "DS#6873, DS#6878",
    .look = findGroupCollapse,
};

constexpr std::array kDiagnoses{
    kStepOffCounters,
    kScheduleDiscontinuity,
    kRngGap,
    kUnknownOptimizerKeys,
    kGroupCollapse,

};

} // namespace

std::span<const Diagnosis> trainingDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
