// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/state_scalars.h"

#include "core/checkpoint/model/scalar_text.h"
#include "core/compare/digest/digested_scalars.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

/// The pickle of a parsed file, including one with elements from another step or run; else null.
const PickleGraph* graphOf(const Checkpoint& checkpoint, FileId file)
{
    const bool parsed = file != kNoFile && checkpoint.file(file).content;
    return parsed ? &checkpoint.file(file).content->pickle() : nullptr;
}

void addGroups(std::vector<StateScalar>& out, const Checkpoint& checkpoint)
{
    constexpr std::string_view kGroup = "group/";
    constexpr std::string_view kOption = "option/";
    for (DigestedScalar& scalar : groupScalars(checkpoint)) {
        const int32_t group = std::stoi(scalar.name.substr(kGroup.size()));
        if (scalar.state.starts_with(kOption))
            out.push_back(
                {ScalarKind::Option, group, scalar.state.substr(kOption.size()), std::move(scalar.text)});
        else
            out.push_back({ScalarKind::Step, group, scalar.state, std::move(scalar.text)});
    }
}

void addCounter(std::vector<StateScalar>& out, const char* name, const std::optional<int64_t>& value)
{
    if (value)
        out.push_back({ScalarKind::Counter, -1, name, std::to_string(*value)});
}

bool has(const FlatUnit& unit, std::string_view state)
{
    return std::any_of(unit.states.begin(), unit.states.end(),
        [&](const UnitState& candidate) { return candidate.name == state; });
}

UpdateKind kindOf(const FlatUnit& unit, const PickleGraph& graph, NodeId options)
{
    const auto option = [&](std::string_view key) { return lookup(graph, options, key) != kNoNode; };
    if (asBool(graph, lookup(graph, options, "use_muon")).value_or(false) || option("max_coeff")
        || asBool(graph, lookup(graph, options, "amsgrad")).value_or(false))
        return UpdateKind::Unknown; // Muon, Lamb, AMSGrad: other rules
    if (has(unit, "exp_avg") && option("betas"))
        return has(unit, "exp_avg_sq") ? UpdateKind::Adam : UpdateKind::Lion;
    if (has(unit, "sum") && option("lr_decay"))
        return UpdateKind::Adagrad;
    if (option("momentum") && option("dampening"))
        return UpdateKind::Sgd;
    return UpdateKind::Unknown;
}

} // namespace

std::vector<StateScalar> stateScalars(const Checkpoint& checkpoint)
{
    std::vector<StateScalar> out;
    const bool told = graphOf(checkpoint, checkpoint.templateOptim) != nullptr;
    if (told)
        addGroups(out, checkpoint);
    if (told) {
        for (const auto& [name, value] : scalerTexts(checkpoint))
            out.push_back({ScalarKind::Scaler, -1, name, value});
    }
    if (const PickleGraph* model = graphOf(checkpoint, checkpoint.templateModel)) {
        const PickleGraph& graph = *model;
        const NodeId scheduler = lookup(graph, graph.root(), "lr_scheduler");
        const auto items = scheduler == kNoNode ? std::span<const NodeId>() : mappingItems(graph, scheduler);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            if (const auto key = asString(graph, items[i]))
                out.push_back(
                    {ScalarKind::Scheduler, -1, std::string(*key), scalarText(graph, items[i + 1])});
        }
    }
    addCounter(out, "global_steps", checkpoint.steps.globalSteps);
    addCounter(out, "global_samples", checkpoint.steps.globalSamples);
    addCounter(out, "skipped_steps", checkpoint.steps.skippedSteps);
    for (const std::string& key : checkpoint.clientStateKeys)
        out.push_back({ScalarKind::ClientState, -1, key, "present"});
    return out;
}

UpdateRule updateRule(const Checkpoint& checkpoint, const ParamGroup& group)
{
    UpdateRule rule;
    const PickleGraph* optimizer = graphOf(checkpoint, checkpoint.templateOptim);
    if (optimizer == nullptr || group.options == kNoNode || group.units.empty())
        return rule;
    const PickleGraph& graph = *optimizer;
    const FlatUnit& unit = checkpoint.units[index(group.units.front())];
    const auto number = [&](std::string_view key) {
        return asNumber(graph, lookup(graph, group.options, key)).value_or(0);
    };
    const auto flag = [&](std::string_view key, bool otherwise) {
        return asBool(graph, lookup(graph, group.options, key)).value_or(otherwise);
    };
    const auto betas = sequenceItems(graph, lookup(graph, group.options, "betas"));
    rule.kind = kindOf(unit, graph, group.options);
    if (lookup(graph, group.options, "lr") == kNoNode)
        rule.kind = UpdateKind::Unknown;
    rule.learningRate = number("lr");
    rule.beta1 = betas.size() == 2 ? asNumber(graph, betas[0]).value_or(0) : number("momentum");
    rule.beta2 = betas.size() == 2 ? asNumber(graph, betas[1]).value_or(0) : 0;
    rule.epsilon = number("eps");
    rule.weightDecay = number("weight_decay");
    const bool decouples = rule.kind == UpdateKind::Adam || rule.kind == UpdateKind::Lion;
    rule.decoupledDecay = flag("decoupled_weight_decay", decouples);
    rule.biasCorrection = flag("bias_correction", true);
    rule.step = unit.step.value_or(0);
    return rule;
}

} // namespace shardscope
