// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/state_scalars.h"

#include "core/checkpoint/folder/folder_content.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/compare/digest/digested_scalars.h"
#include "core/io/content_digest.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kMaxScheduleBytes = uint64_t{16} << 20;

void addGroups(std::vector<StateScalar>& out, const Checkpoint& checkpoint)
{
    constexpr std::string_view kGroup = "group/";
    constexpr std::string_view kOption = "option/";
    for (DigestedScalar& scalar : groupScalars(checkpoint)) {
        const int32_t group = std::stoi(scalar.name.substr(kGroup.size()));
        if (scalar.state.starts_with(kOption))
            out.push_back({ScalarKind::Option, group, scalar.state.substr(kOption.size()),
                std::move(scalar.text), scalar.lacks});
        else
            out.push_back({ScalarKind::Step, group, scalar.state, std::move(scalar.text), scalar.lacks});
    }
}

void addCounter(std::vector<StateScalar>& out, const char* name, const std::optional<int64_t>& value)
{
    if (value)
        out.push_back({ScalarKind::Counter, -1, name, std::to_string(*value)});
}

/// The state of a learning-rate scheduler, key by key.
void addMapping(
    std::vector<StateScalar>& out, const TorchFile& file, NodeId mapping, const std::string& prefix)
{
    const PickleGraph& graph = file.pickle();
    const auto items = mappingItems(graph, mapping);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (const auto key = asString(graph, items[i])) {
            ScalarSpelling spelling = spellScalar(file, items[i + 1]);
            out.push_back({ScalarKind::Scheduler, -1, prefix + std::string(*key), std::move(spelling.text),
                spelling.lacks});
        }
    }
}

bool has(const FlatUnit& unit, std::string_view state)
{
    return std::any_of(unit.states.begin(), unit.states.end(),
        [&](const UnitState& candidate) { return candidate.name == state; });
}

UpdateKind kindOf(const FlatUnit& unit, const PickleGraph& graph, const GroupOptions& options)
{
    if (options.lr == kNoNode || asBool(graph, options.useMuon).value_or(false) || options.maxCoeff != kNoNode
        || asBool(graph, options.amsgrad).value_or(false))
        return UpdateKind::Unknown; // Muon, Lamb, AMSGrad: other rules
    if (has(unit, "exp_avg") && options.betas != kNoNode)
        // DeepSpeed's Lion also stores second moments, which it never uses (ops/csrc/lion): it has no
        // epsilon.
        return has(unit, "exp_avg_sq") && options.eps != kNoNode ? UpdateKind::Adam : UpdateKind::Lion;
    if (has(unit, "sum") && options.lrDecay != kNoNode)
        return UpdateKind::Adagrad;
    if (options.momentum != kNoNode && options.dampening != kNoNode)
        return UpdateKind::Sgd;
    return UpdateKind::Unknown;
}

} // namespace

std::vector<StateScalar> stateScalars(const Checkpoint& checkpoint)
{
    std::vector<StateScalar> out;
    if (optimStates(checkpoint)) {
        addGroups(out, checkpoint);
        for (const auto& [name, value] : scalerTexts(checkpoint))
            out.push_back({ScalarKind::Scaler, -1, name, value});
    }
    if (const ModelStates model = modelStates(checkpoint)) {
        addMapping(out, *model.file->content, model.scheduler, {});
    }
    addCounter(out, "global_steps", checkpoint.steps.globalSteps);
    addCounter(out, "global_samples", checkpoint.steps.globalSamples);
    addCounter(out, "skipped_steps", checkpoint.steps.skippedSteps);
    const ModelStates model = modelStates(checkpoint);
    for (const std::string& key : checkpoint.clientStateKeys) {
        // Tensors in it are the script's own: of those, type and shape.
        const NodeId node = model && model.root != kNoNode ? lookup(*model.graph, model.root, key) : kNoNode;
        out.push_back({ScalarKind::ClientState, -1, key,
            node == kNoNode ? std::string("present") : scalarText(*model.file->content, node)});
    }
    return out;
}

Result<std::vector<StateScalar>> frameworkScalars(
    io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job)
{
    std::vector<StateScalar> out;
    for (const CheckpointFile& file : checkpoint.files) {
        if (!isNextToTag(file.name))
            continue;
        const std::string name = file.name.substr(kNextToTag.size());
        if (!name.starts_with("scheduler") || !(name.ends_with(".pt") || name.ends_with(".bin")))
            continue;
        const auto content = TorchFile::open(files, file.path, ReadMode::Tolerant, job);
        if (content && isMapping((*content)->pickle(), (*content)->pickle().root())) {
            addMapping(out, **content, (*content)->pickle().root(), name + " ");
            continue;
        }
        if (!content && (content.error().code == ErrorCode::Cancelled || isUnreadable(content.error())))
            return forward(content.error());
        SHARDSCOPE_TRY(const std::string bytes, files.readSmall(file.path, kMaxScheduleBytes));
        io::ContentDigest digest(io::DigestKind::Xxh3);
        digest.update({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
        out.push_back({ScalarKind::Scheduler, -1, name, digest.finish()});
    }
    return out;
}

UpdateRule updateRule(const Checkpoint& checkpoint, const ParamGroup& group)
{
    UpdateRule rule;
    const OptimStates optimizer = optimStates(checkpoint);
    if (!optimizer || group.options == kNoNode || group.units.empty())
        return rule;
    const PickleGraph& graph = *optimizer.graph;
    const FlatUnit& unit = checkpoint.units[index(group.units.front())];
    const GroupOptions options = readGroupOptions(graph, group.options);
    const auto number = [&](NodeId node) { return numberOf(*optimizer.file->content, node).value_or(0); };
    const auto betas = sequenceItems(graph, options.betas);
    rule.kind = kindOf(unit, graph, options);
    rule.learningRate = number(options.lr);
    rule.beta1 = betas.size() == 2 ? number(betas[0]) : number(options.momentum);
    rule.beta2 = betas.size() == 2 ? number(betas[1]) : 0;
    rule.epsilon = number(options.eps);
    rule.weightDecay = number(options.weightDecay);
    const bool decouples = rule.kind == UpdateKind::Adam || rule.kind == UpdateKind::Lion;
    rule.decoupledDecay = asBool(graph, options.decoupledDecay).value_or(decouples);
    rule.biasCorrection = asBool(graph, options.biasCorrection).value_or(true);
    rule.step = unit.step.value_or(0);
    return rule;
}

UpdateRules::UpdateRules(const Checkpoint& checkpoint)
    : m_checkpoint(checkpoint)
{
    for (const ParamGroup& group : checkpoint.groups)
        m_rules.push_back(updateRule(checkpoint, group));
}

UpdateRule UpdateRules::of(ParamId param) const
{
    const FlatUnit* unit = m_checkpoint.unitOf(param);
    const int32_t group = m_checkpoint.params[index(param)].group;
    for (size_t i = 0; i < m_checkpoint.groups.size(); ++i) {
        if (group >= 0 && m_checkpoint.groups[i].index == static_cast<uint32_t>(group)) {
            UpdateRule rule = m_rules[i];
            if (unit != nullptr && unit->step)
                rule.step = *unit->step;
            return rule;
        }
    }
    return {};
}

MomentNames momentNames(UpdateKind kind)
{
    switch (kind) {
    case UpdateKind::Adam:
        return {"exp_avg", "exp_avg_sq"};
    case UpdateKind::Lion:
        return {"exp_avg", ""};
    case UpdateKind::Sgd:
        return {"momentum_buffer", ""};
    case UpdateKind::Adagrad:
        return {"", "sum"};
    case UpdateKind::Unknown:
        break;
    }
    return {};
}

} // namespace shardscope
