// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/stage0_optimizer.h"

#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/state_values.h"
#include "core/compare/digest/file_scan.h"
#include "core/plan/emit/optimizer_entries.h"
#include "core/plan/target/reshard_options.h"
#include "core/plan/target/scaler_forms.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

/// Parts of the rank-0 optimizer file for an archive that is made from another file: values are copied,
/// tensors get storages of their own.
class OptimParts
{
public:
    OptimParts(ArchiveComposer& composer, const ReshardContext& context)
        : m_composer(composer)
        , m_context(context)
        , m_file(context.optimTemplate())
        , m_same(context.source->templateOptim == context.source->templateModel)
        , m_importer(composer.builder(), m_file.pickle())
    {
    }

    [[nodiscard]] const PickleGraph& graph() const { return m_file.pickle(); }

    NodeId import(NodeId node)
    {
        if (m_same)
            return m_composer.import(node);
        placeTensors(node, 0);
        return m_importer.import(node);
    }

    /// A value that every entry holds for itself, because optimizers advance it in place.
    NodeId scalar(NodeId node)
    {
        const NodeId made = tensorOf(node);
        return made == kNoNode ? import(node) : made;
    }

private:
    static constexpr int kMaxNested = 8;

    NodeId tensorOf(NodeId node)
    {
        if (!looksLikeTensor(graph(), node))
            return kNoNode;
        const auto tensor = asTensor(graph(), node);
        const auto extent = tensor ? m_file.extentOf(*tensor) : forward(tensor.error());
        if (!tensor || !extent || !tensor->isContiguous())
            return kNoNode;
        return m_composer.tensor(tensor->dtype, tensor->sizes, tensor->requiresGrad,
            wholeRecordCursor(m_context.sourceIndex(m_context.source->templateOptim), extent->record,
                extent->byteOffset, extent->bytes));
    }

    /// Options may be tensors (a learning rate); their storages are not in the file that the archive is made
    /// from.
    void placeTensors(NodeId node, int depth)
    {
        if (const NodeId made = tensorOf(node); made != kNoNode) {
            m_importer.substitute(node, made);
            return;
        }
        for (const NodeId item : sequenceItems(graph(), node)) {
            if (depth < kMaxNested)
                placeTensors(item, depth + 1);
        }
        const auto items = mappingItems(graph(), node);
        for (size_t i = 1; i < items.size() && depth < kMaxNested; i += 2)
            placeTensors(items[i], depth + 1);
    }

    ArchiveComposer& m_composer;
    const ReshardContext& m_context;
    const TorchFile& m_file;
    bool m_same;
    PickleImporter m_importer;
};

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
            return torchState();
        const NodeId out = m_builder.dict();
        // FP16_Optimizer keeps them for fp16 alone, FP16_UnfusedOptimizer always.
        if (hasUnfusedOptimizer(m_kind) || m_source.precision == "fp16") {
            const auto import = [this](NodeId node) { return m_parts.import(node); };
            for (const auto& [key, value] : scalerKeys(m_builder, m_source, import))
                set(out, key, value);
        }
        set(out, "optimizer_state_dict", torchState());
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

    NodeId torchState()
    {
        const NodeId states = m_builder.dict();
        const NodeId groups = m_builder.list();
        int64_t number = 0;
        for (uint32_t u = 0; u < unitCount(); ++u) {
            std::vector<NodeId> numbers;
            const size_t count = hasFlatMasters(m_kind) ? 1 : unit(u).params.size();
            for (uint32_t at = 0; at < count; ++at, ++number) {
                numbers.push_back(m_builder.integer(number));
                if (const NodeId entry = stateEntry(u, at); entry != kNoNode)
                    m_builder.setItem(states, m_builder.integer(number), entry);
            }
            m_builder.append(groups, options(m_source.groups[u].options, numbers));
        }
        const NodeId out = m_builder.dict();
        set(out, "state", states);
        set(out, "param_groups", groups);
        return out;
    }

    NodeId options(NodeId from, std::span<const NodeId> numbers)
    {
        const PickleGraph& graph = m_parts.graph();
        const NodeId out = m_builder.dict();
        const auto items = mappingItems(graph, from);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            if (asString(graph, items[i]) != "params")
                m_builder.setItem(out, m_parts.import(items[i]), m_parts.import(items[i + 1]));
        }
        set(out, "params", m_builder.list(numbers));
        return out;
    }

    /// Of the whole group, or of one of its parameters; in the order in which the source keeps its own.
    NodeId stateEntry(uint32_t u, uint32_t at)
    {
        const FlatUnit& of = unit(u);
        const NodeId old = sourceEntry(m_source, u);
        const bool fromModel = isConverted(m_source.kind);
        if (fromModel ? of.states.size() < 2 && of.stepForm == StepForm::Absent : old == kNoNode)
            return kNoNode;
        if (fromModel) {
            const NodeId entry = m_builder.dict();
            if (const NodeId step = stepValue(m_composer, of); step != kNoNode)
                set(entry, "step", step);
            for (uint32_t state = 1; state < of.states.size(); ++state)
                set(entry, of.states[state].name, tensor(u, at, state, false));
            return entry;
        }
        const auto valueOf = [&](const std::string& name, NodeId value) {
            const auto state = std::find_if(of.states.begin() + 1, of.states.end(),
                [&](const UnitState& one) { return one.name == name; });
            return state == of.states.end()
                ? m_parts.scalar(value)
                : tensor(u, at, static_cast<uint32_t>(state - of.states.begin()), false);
        };
        return copyEntry(
            m_parts.graph(), old, {m_builder, [&](NodeId key) { return m_parts.import(key); }, valueOf});
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
        && !hasTorchOptimizer(context.target.kind) && entry.state == "fp32";
    if (!becomesWeight)
        return context.planOfTable[tensor];
    return context.newWeights.empty() ? Segment::kNoTensor : context.newWeights[index(entry.param)];
}

/// Where tensors of the plan lie in a run of a record of the model file, ascending.
std::vector<MarkedRun> runsWithin(
    const ReshardContext& context, const std::vector<TensorRun>& runs, uint64_t begin, uint64_t bytes)
{
    std::vector<MarkedRun> out;
    const uint64_t end = begin + bytes;
    auto run = std::lower_bound(runs.begin(), runs.end(), begin,
        [](const TensorRun& one, uint64_t offset) { return one.offset < offset; });
    for (; run != runs.end() && run->offset + run->bytes <= end; ++run) {
        const uint32_t tensor = tensorInFile(context, run->tensor);
        if (tensor != Segment::kNoTensor)
            out.push_back({run->offset, run->bytes, tensor});
    }
    return out;
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
    const uint32_t from = context->sourceIndex(file);
    const auto runs = std::make_shared<const std::vector<TensorRun>>(
        runsOfFile(source, *context->table, WholeRuns(source, *context->table), file));
    composer.setRecordCursor([context, from, runs](uint32_t record, uint64_t offset, uint64_t bytes) {
        return markedRecordCursor(from, record, offset, bytes, runsWithin(*context, *runs, offset, bytes));
    });
}

} // namespace shardscope
