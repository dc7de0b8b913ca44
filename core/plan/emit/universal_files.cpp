// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/optim_states.h"
#include "core/layout/slices/merged_slices.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/optimizer_entries.h"
#include "core/plan/target/scaler_forms.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

namespace {

/// Writes zero/optimizer_state.pt. Stages 1 and 2 take scaler and `param_groups` from its top level
/// (runtime/base_optimizer.py), stage 3 the nested `optimizer_state_dict` (runtime/zero/stage3.py).
class UniversalOptim
{
public:
    explicit UniversalOptim(std::shared_ptr<const ReshardContext> context)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_composer(m_context->optimTemplate(), m_context->sourceIndex(m_source.templateOptim))
        , m_graph(m_composer.graph())
        , m_builder(m_composer.builder())
    {
    }

    Result<OutputFile> compose(const std::string& name)
    {
        const NodeId root = m_builder.dict();
        if (keepsScalerKeys(m_source))
            addScaler(root);
        else
            m_composer.addEntries(root, m_source.optimWrapper, [&](std::string_view key, NodeId value) {
                const bool known = key == "ds_version" || describesShards(key)
                    || (m_source.merged && key == "universal_checkpoint_info");
                return known ? kNoNode : m_composer.import(value);
            });
        set(root, "ds_version", m_builder.string(writtenVersion(m_source)));
        const TorchState optimizer = optimizerState();
        set(root, "param_groups", optimizer.paramGroups);
        set(root, "optimizer_state_dict", optimizer.in(m_builder));
        return m_composer.finish(root, name, m_context->optimRecords);
    }

private:
    void set(NodeId mapping, std::string_view key, NodeId value)
    {
        m_builder.setItem(mapping, m_builder.string(key), value);
    }

    /// As ZeRO keeps them: every loader looks for the object.
    void addScaler(NodeId root)
    {
        const OptimStates old = optimStates(m_graph, m_source.optimWrapper);
        set(root, "loss_scaler", scalerObject(m_composer, m_source));
        set(root, "dynamic_loss_scale",
            old.dynamicLossScale == kNoNode ? m_builder.boolean(false)
                                            : m_composer.import(old.dynamicLossScale));
        set(root, "overflow", m_builder.boolean(false));
        if (old.clipGrad != kNoNode)
            set(root, "clip_grad", m_composer.import(old.clipGrad));
    }

    /// Stage 3 takes one step for all sub-groups from the entry of number 0.
    TorchState optimizerState()
    {
        std::vector<TorchGroup> groups;
        for (size_t g = 0; g < m_source.groups.size(); ++g)
            groups.push_back({m_source.groups[g].options, {{static_cast<int64_t>(g), kNoNode}}});
        if (!groups.empty() && !m_context->target.units.empty()) {
            NodeId& entry = groups.front().entries.front().second;
            entry = m_builder.dict();
            const NodeId step = stepValue(m_composer, *m_context->target.units.front());
            if (step != kNoNode)
                set(entry, "step", step);
        }
        OptimParts parts(m_composer, *m_context);
        return torchState(parts, groups);
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    ArchiveComposer m_composer;
    const PickleGraph& m_graph;
    PickleBuilder& m_builder;
};

ArchiveComposer formOnly(const ReshardContext& context)
{
    return {context.optimTemplate(), context.sourceIndex(context.source->templateOptim),
        ArchiveComposer::Take::FormOnly};
}

/// Keys by which a run with tensor slices splits a parameter that consists of several.
void addMarks(PickleBuilder& builder, NodeId root, const UniversalMarks& marks)
{
    if (marks.subParams > 1)
        builder.setItem(
            root, builder.string("param_n_sub_params"), builder.integer(int64_t{marks.subParams}));
    if (marks.isVocabulary)
        builder.setItem(root, builder.string("vocab_tensor"), builder.boolean(true));
    if (!marks.subShape)
        return;
    const UniversalMarks::SubShape& of = *marks.subShape;
    std::vector<NodeId> patterns;
    for (const std::string& pattern : of.patterns)
        patterns.push_back(builder.string(pattern));
    std::vector<NodeId> sizes;
    for (const uint64_t size : of.sizes)
        sizes.push_back(builder.integer(static_cast<int64_t>(size)));
    std::vector<NodeId> shape;
    for (size_t i = 0; i < of.shape.size(); ++i)
        shape.push_back(i == of.dimension ? builder.tuple(sizes) : builder.integer(of.shape[i]));
    const NodeId attributes = builder.dict();
    builder.setItem(attributes, builder.string("patterns"), builder.list(patterns));
    builder.setItem(attributes, builder.string("shape"), builder.tuple(shape));
    builder.setItem(attributes, builder.string("partition_dim"), builder.integer(int64_t{of.dimension}));
    const NodeId object = builder.newObj(
        builder.global("deepspeed.checkpoint.universal_checkpoint", "SubparamShape"), builder.tuple({}));
    builder.setState(object, attributes);
    builder.setItem(root, builder.string("sub_param_shape"), object);
}

} // namespace

Result<OutputFile> composeUniversalState(const std::shared_ptr<const ReshardContext>& context, uint32_t unit,
    uint32_t param, uint32_t state, const std::string& name)
{
    const FlatUnit& of = *context->target.units[unit];
    const ParamId id = of.params[param];
    ArchiveComposer composer = formOnly(*context);
    PickleBuilder& builder = composer.builder();
    const NodeId root = builder.dict();
    // Stock gives the master the gradient flag of the flat tensor it was cut from.
    builder.setItem(root, builder.string("param"),
        wholeTensor(composer, context, id, of.states[state].name, of.states[state].dtype,
            context->tensorOf(id, state), state == 0));
    const MergedSlices* merged = context->source->merged.get();
    const UniversalMarks* marks
        = merged != nullptr && index(id) < merged->marks.size() ? &merged->marks[index(id)] : nullptr;
    builder.setItem(root, builder.string("cat_dim"),
        builder.integer(marks == nullptr ? 0 : int64_t{marks->catDimension}));
    if (marks != nullptr)
        addMarks(builder, root, *marks);
    return composer.finish(root, name, context->optimRecords);
}

Result<OutputFile> composeUniversalStep(
    const std::shared_ptr<const ReshardContext>& context, uint32_t unit, const std::string& name)
{
    ArchiveComposer composer = formOnly(*context);
    const NodeId root = stepValue(composer, *context->target.units[unit]);
    return composer.finish(root, name, context->optimRecords);
}

Result<OutputFile> composeUniversalOptim(
    const std::shared_ptr<const ReshardContext>& context, const std::string& name)
{
    return UniversalOptim(context).compose(name);
}

} // namespace shardscope
