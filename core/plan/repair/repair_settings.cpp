// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/doctor/saved_facts.h"
#include "core/layout/address.h"
#include "core/plan/repair/amended.h"
#include "core/plan/target/named_option.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 3> kCounters{"global_steps", "global_samples", "skipped_steps"};
constexpr std::string_view kScheduler = "lr_scheduler.";

tl::unexpected<Error> cannotSet(const Amended& amended, const std::string& name, const std::string& why)
{
    return fail(
        ErrorCode::Unsupported, "`" + name + "` is not set: " + why, amended.source->tagFolder.string());
}

std::string numberText(double value)
{
    std::array<char, 32> text{};
    const auto done = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), done.ptr};
}

std::optional<double> numberOf(std::string_view text)
{
    double out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(out) ? std::optional(out)
                                                                                          : std::nullopt;
}

/// A key in a file that is the template of all others.
struct SettingPlace {
    FileId file = kNoFile;
    NodeId mapping = kNoNode;
    std::string key;
    std::string name; ///< for messages
};

/// Sets another value for an existing key, and records the change.
Status put(Amended& amended, const SettingPlace& place, const std::string& value, std::string_view code)
{
    const auto& [file, mapping, key, name] = place;
    PickleEdit& edit = amended.edit(file);
    const NodeId old = lookup(edit.graph(), mapping, key);
    if (old == kNoNode)
        return cannotSet(amended, name, "the checkpoint does not have it");
    if (looksLikeTensor(edit.graph(), old))
        return cannotSet(amended, name, "it is a tensor there");
    SHARDSCOPE_TRY(const NodeId made, optionValue(edit.builder(), value));
    edit.put(mapping, key, made);
    amended.recordChange({code, amended.source->file(file).name, "`" + name + "` is set",
        nodeText(edit.graph(), old), value, false});
    return {};
}

/// Refuses slices and stages: it is not known what each stores of it.
Status requireOnePart(const Amended& amended, const std::string& name)
{
    if (amended.isSplit())
        return cannotSet(amended, name, "it is not set for tensor slices and pipeline stages");
    return {};
}

Status setCounter(Amended& amended, const std::string& key, const std::string& value, std::string_view code)
{
    const auto number = numberOf(value);
    if (!number || *number < 0 || *number != std::floor(*number) || *number > 9e15)
        return fail(ErrorCode::Usage, "`" + key + "` is a whole number, not `" + value + "`");
    const ModelStates model = modelStates(*amended.source);
    if (!model)
        return cannotSet(amended, key, "there is no model file");
    SHARDSCOPE_CHECK(
        put(amended, {amended.source->templateModel, model.graph->root(), key, key}, value, code));
    StepCounters& steps = amended.checkpoint->steps;
    auto& counter = key == "global_steps" ? steps.globalSteps
        : key == "global_samples"         ? steps.globalSamples
                                          : steps.skippedSteps;
    counter = static_cast<int64_t>(*number);
    return {};
}

Status setScale(Amended& amended, const std::string& value)
{
    const Checkpoint& source = *amended.source;
    const OptimStates optimizer = optimStates(source);
    const auto number = numberOf(value);
    if (!number || *number <= 0)
        return fail(ErrorCode::Usage, "`scale` is a number above zero, not `" + value + "`");
    if (!optimizer)
        return cannotSet(amended, "scale", "there is no optimizer file");
    const NodeId mapping = lossScaler(optimizer).values;
    // torch's floats must remain floats.
    const std::string text = value.find_first_of(".eE") == std::string::npos ? value + ".0" : value;
    SHARDSCOPE_CHECK(put(amended, {source.templateOptim, mapping, "cur_scale", "scale"}, text, kSetCode));
    amended.checkpoint->lossScale = *number;
    return {};
}

Status setOption(Amended& amended, const std::string& text)
{
    const Checkpoint& source = *amended.source;
    SHARDSCOPE_TRY(const NamedOption option, parseNamedOption(text));
    if (!optimStates(source))
        return cannotSet(amended, option.key, "there is no optimizer file");
    if (option.group && *option.group >= source.groups.size())
        return fail(ErrorCode::Usage,
            "`" + text + "`: the checkpoint has " + std::to_string(source.groups.size())
                + " param groups, counted from 0");
    for (const ParamGroup& group : source.groups) {
        if (!option.group || *option.group == group.index)
            SHARDSCOPE_CHECK(put(amended,
                {source.templateOptim, group.options, option.key,
                    std::to_string(group.index) + ":" + option.key},
                option.value, kSetCode));
    }
    return {};
}

} // namespace

Status setStep(Amended& amended, double step, std::string_view code)
{
    const Checkpoint& source = *amended.source;
    if (isStage0(source.kind))
        return cannotSet(amended, "step", "without ZeRO, every parameter has its own step");
    size_t places = 0;
    for (uint32_t u = 0; u < source.units.size(); ++u) {
        FlatUnit& unit = amended.checkpoint->units[u];
        if (unit.kind == UnitKind::Frozen || unit.stepForm == StepForm::Absent)
            continue;
        ++places;
        if (unit.step == step)
            continue;
        const std::string name = unit.subgroup ? "sub-group " + std::to_string(*unit.subgroup)
                                               : "group " + std::to_string(unit.group);
        amended.recordChange({code, source.file(source.templateOptim).name, "the step of " + name + " is set",
            unit.step ? numberText(*unit.step) : std::string(), numberText(step), false});
        unit.step = step;
        unit.stepSet = true;
    }
    const OptimStates optimizer = optimStates(source);
    const std::string text = numberText(step);
    for (const ParamGroup& group : source.groups) {
        // FusedAdam's groups also have a step, which stays 0. Apex stores the step only there.
        const bool elsewhere = std::any_of(group.units.begin(), group.units.end(),
            [&](UnitId id) { return source.units[index(id)].stepForm != StepForm::Absent; });
        if (elsewhere || !optimizer || readGroupOptions(*optimizer.graph, group.options).step == kNoNode)
            continue;
        ++places;
        SHARDSCOPE_CHECK(
            put(amended, {source.templateOptim, group.options, "step", std::to_string(group.index) + ":step"},
                text, code));
    }
    if (optimizer.baseStep != kNoNode) {
        ++places;
        SHARDSCOPE_CHECK(put(amended,
            {source.templateOptim, source.optimWrapper, "base_optimizer_state_step",
                "base_optimizer_state_step"},
            text, code));
    }
    if (places == 0)
        return cannotSet(amended, "step",
            "the checkpoint has none, and which form of it the run's optimizer reads is not known");
    return {};
}

Status takeCounters(Amended& amended, const std::vector<const Finding*>& findings)
{
    const StepCounters& steps = amended.source->steps;
    if (!steps.globalSteps)
        return cannotRepair(amended, *findings.front(), "the engine's counters are missing");
    const int64_t taken = *steps.globalSteps - steps.skippedSteps.value_or(0);
    SHARDSCOPE_CHECK(setStep(amended, static_cast<double>(taken), findings.front()->code));
    for (const Finding* finding : findings)
        amended.settle(*finding);
    return {};
}

Status takeSchedule(Amended& amended, const std::vector<const Finding*>& findings)
{
    const Checkpoint& source = *amended.source;
    const ModelStates model = modelStates(source);
    const OptimStates optimizer = optimStates(source);
    const std::string_view code = findings.front()->code;
    const SchedulerState scheduler = schedulerState(model);
    const auto set = model ? sequenceItems(*model.graph, scheduler.lastRates) : std::span<const NodeId>();
    for (const ParamGroup& group : source.groups) {
        const auto rate
            = optimizer && group.index < set.size() ? asNumber(*model.graph, set[group.index]) : std::nullopt;
        const auto kept = rate
            ? numberOf(*optimizer.file->content, readGroupOptions(*optimizer.graph, group.options).lr)
            : std::nullopt;
        // A tensor has the rate in float32.
        if (kept && *kept != *rate && static_cast<float>(*kept) != static_cast<float>(*rate))
            SHARDSCOPE_CHECK(
                put(amended, {source.templateOptim, group.options, "lr", std::to_string(group.index) + ":lr"},
                    numberText(*rate), code));
    }
    const NodeId last = scheduler.lastBatchIteration;
    if (last != kNoNode && source.steps.globalSteps) {
        const int64_t taken = *source.steps.globalSteps - source.steps.skippedSteps.value_or(0);
        if (asInteger(*model.graph, last) != taken - 1)
            SHARDSCOPE_CHECK(put(amended,
                {source.templateModel, scheduler.node, "last_batch_iteration",
                    "lr_scheduler.last_batch_iteration"},
                std::to_string(taken - 1), code));
    }
    for (const Finding* finding : findings)
        amended.settle(*finding);
    return {};
}

Status takeOwners(Amended& amended, const std::vector<const Finding*>& findings)
{
    SHARDSCOPE_CHECK(requireOnePart(amended, "tied parameters"));
    const ModelStates model = modelStates(*amended.source);
    for (const Finding* finding : findings) {
        const ParamAddress* named = finding->where.param();
        const auto owner = named == nullptr || !model
            ? std::nullopt
            : asString(*model.graph, lookup(*model.graph, model.sharedParams, named->name));
        const NodeId value = owner ? lookup(*model.graph, model.module, *owner) : kNoNode;
        if (value == kNoNode)
            return cannotRepair(amended, *finding, "which one owns the values is not recorded");
        amended.edit(amended.source->templateModel).share(model.module, named->name, value);
        amended.repair(*finding, "both names get the values of " + toValidUtf8(std::string(*owner)));
    }
    return {};
}

Status addUniversalInfo(Amended& amended, const std::vector<const Finding*>& findings)
{
    // checkpoint/constants.py, UNIVERSAL_CHECKPOINT_VERSION_VALUE. ds_to_universal.py adds it on request.
    constexpr double kVersion = 0.2;
    SHARDSCOPE_CHECK(requireOnePart(amended, "universal_checkpoint_info"));
    const ModelStates model = modelStates(*amended.source);
    if (!model)
        return cannotRepair(amended, *findings.front(), "there is no model file");
    PickleEdit& edit = amended.edit(amended.source->templateModel);
    const NodeId info = edit.builder().dict();
    edit.builder().setItem(
        info, edit.builder().string("universal_checkpoint_version"), edit.builder().real(kVersion));
    edit.put(edit.graph().root(), "universal_checkpoint_info", info);
    for (const Finding* finding : findings)
        amended.repair(*finding,
            "the key is added with only its version: nothing is split, so nothing has to be merged");
    return {};
}

Status setValues(Amended& amended, const std::vector<std::string>& values)
{
    for (const std::string& text : values) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos)
            return fail(
                ErrorCode::Usage, "`" + text + "` does not have the form NAME=VALUE", {}, "step=1000");
        const std::string name = text.substr(0, equals);
        const std::string value = text.substr(equals + 1);
        if (name == "step") {
            const auto step = numberOf(value);
            if (!step || *step < 0 || *step != std::floor(*step))
                return fail(ErrorCode::Usage, "`step` is a whole number, not `" + value + "`");
            SHARDSCOPE_CHECK(setStep(amended, *step, kSetCode));
        } else if (std::find(kCounters.begin(), kCounters.end(), name) != kCounters.end()) {
            SHARDSCOPE_CHECK(setCounter(amended, name, value, kSetCode));
        } else if (name == "scale") {
            SHARDSCOPE_CHECK(setScale(amended, value));
        } else if (name.starts_with(kScheduler)) {
            const ModelStates model = modelStates(*amended.source);
            if (model.scheduler == kNoNode)
                return cannotSet(amended, name, "there is no scheduler");
            SHARDSCOPE_CHECK(put(amended,
                {amended.source->templateModel, model.scheduler, name.substr(kScheduler.size()), name}, value,
                kSetCode));
        } else {
            SHARDSCOPE_CHECK(setOption(amended, text));
        }
    }
    return {};
}

} // namespace shardscope
