// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/stage0_optimizer.h"

#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/compare/digest/file_scan.h"
#include "core/plan/emit/optimizer_entries.h"
#include "core/plan/target/reshard_options.h"
#include "core/plan/target/scaler_forms.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

class Stage0Optimizer
{
public:
    Stage0Optimizer(ArchiveComposer& composer, std::shared_ptr<const ReshardContext> context)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_composer(composer)
        , m_builder(composer.builder())
        , m_parts(composer, *m_context)
        , m_kind(m_context->target.kind)
    {
    }

    NodeId make()
    {
        if (hasTorchOptimizer(m_kind))
            return optimizerState();
        const NodeId out = m_builder.dict();
        // FP16_Optimizer keeps them for fp16 alone, FP16_UnfusedOptimizer always.
        if (hasUnfusedOptimizer(m_kind) || m_source.precision == "fp16") {
            const auto import = [this](NodeId node) { return m_parts.import(node); };
            for (const auto& [key, value] : scalerKeys(m_builder, m_source, import))
                set(out, key, value);
        }
        set(out, "optimizer_state_dict", optimizerState());
        if (hasFlatMasters(m_kind)) {
            set(out, "fp32_groups_flat", flatMasters());
            set(out, "clip_grad", clipping());
        } else {
            set(out, "fp32_groups", listedMasters());
        }
        return out;
    }

private:
    void set(NodeId mapping, std::string_view key, NodeId value)
    {
        m_builder.setItem(mapping, m_builder.string(key), value);
    }

    [[nodiscard]] uint32_t unitCount() const { return static_cast<uint32_t>(m_context->target.units.size()); }
    [[nodiscard]] const FlatUnit& unit(uint32_t u) const { return *m_context->target.units[u]; }

    /// By group, or by parameter; entries in the order in which the source keeps its own.
    NodeId optimizerState()
    {
        std::vector<TorchGroup> groups;
        int64_t number = 0;
        for (uint32_t u = 0; u < unitCount(); ++u) {
            TorchGroup& group = groups.emplace_back(TorchGroup{m_source.groups[u].options, {}});
            const size_t count = hasFlatMasters(m_kind) ? 1 : unit(u).params.size();
            for (uint32_t at = 0; at < count; ++at)
                group.entries.emplace_back(number++,
                    stateEntry(m_parts, unit(u), sourceEntry(m_source, u),
                        [&](uint32_t state) { return tensor(u, at, state, false); }));
        }
        return torchState(m_parts, groups).in(m_builder);
    }

    NodeId tensor(uint32_t u, uint32_t at, uint32_t state, bool requiresGrad)
    {
        if (hasFlatMasters(m_kind))
            return flatTensor(m_composer, m_context, u, state, 0, requiresGrad);
        const ParamId param = unit(u).params[at];
        const UnitState& of = unit(u).states[state];
        return wholeTensor(
            m_composer, m_context, param, of.name, of.dtype, m_context->tensorOf(param, state), requiresGrad);
    }

    NodeId flatMasters()
    {
        std::vector<NodeId> out;
        for (uint32_t u = 0; u < unitCount(); ++u)
            out.push_back(tensor(u, 0, 0, true));
        return m_builder.list(out);
    }

    NodeId listedMasters()
    {
        std::vector<NodeId> out;
        for (uint32_t u = 0; u < unitCount(); ++u) {
            std::vector<NodeId> masters;
            for (uint32_t at = 0; at < unit(u).params.size(); ++at)
                masters.push_back(tensor(u, at, 0, true));
            out.push_back(m_builder.list(masters));
        }
        return m_builder.list(out);
    }

    /// Stock takes it from here, not from its configuration.
    NodeId clipping()
    {
        const NodeId saved = optimStates(m_parts.graph(), m_source.optimWrapper).clipGrad;
        if (saved != kNoNode)
            return m_parts.import(saved);
        const NodeId configured = readableModel(m_source).configValue({"gradient_clipping"});
        return configured == kNoNode ? m_builder.real(0.0) : m_composer.import(configured);
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    ArchiveComposer& m_composer;
    PickleBuilder& m_builder;
    OptimParts m_parts;
    CheckpointKind m_kind;
};

/// What a tensor of the source is in the plan, in the file that holds it: with ZeRO the masters of a layer
/// file are weights, in addition to masters.
uint32_t tensorInFile(const ReshardContext& context, uint32_t tensor)
{
    const TensorTable::Entry entry = context.table->entry(tensor);
    const bool becomesWeight = hasTorchOptimizer(context.source->kind)
        && !hasTorchOptimizer(context.target.kind) && entry.isMaster;
    if (!becomesWeight)
        return context.planOfTable[tensor];
    return context.newWeights.empty() ? Segment::kNoTensor : context.newWeights[index(entry.param)];
}

} // namespace

NodeId stage0Optimizer(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context)
{
    return Stage0Optimizer(composer, context).make();
}

void markStage0Tensors(
    ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context, FileId file)
{
    const Checkpoint& source = *context->source;
    std::vector<MarkedRun> runs;
    for (const TensorRun& run :
        runsOfFile(source, *context->table, WholeRuns(source, *context->table), file)) {
        const uint32_t tensor = tensorInFile(*context, run.tensor);
        if (tensor != Segment::kNoTensor)
            runs.push_back({run.offset, run.bytes, tensor});
    }
    markRuns(composer, context->sourceIndex(file), std::move(runs));
}

} // namespace shardscope
