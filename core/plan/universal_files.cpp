// SPDX-License-Identifier: Apache-2.0
#include "core/plan/optimizer_entries.h"
#include "core/plan/universal_names.h"
#include "core/torchfile/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

/// Keys of a wrapper that describe shards; all others are carried.
constexpr std::array<std::string_view, 10> kShardKeys{"group_paddings", "groups_padding",
    "param_slice_mappings", "param_alignment_paddings", "base_optimizer_state", "base_optimizer_state_step",
    "single_partition_of_fp32_groups", "optimizer_state_dict", "fp32_flat_groups",
    "ds_zero_partition_groups"};

/// Writes zero/optimizer_state.pt. Stages 1 and 2 take scaler and `param_groups` from its top level
/// (runtime/base_optimizer.py), stage 3 the nested `optimizer_state_dict` (runtime/zero/stage3.py).
class UniversalOptim
{
public:
    explicit UniversalOptim(std::shared_ptr<const ReshardContext> context)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_composer(m_context->optimTemplate(), m_context->sourceIndex(m_source.rank0Optim))
        , m_graph(m_composer.graph())
        , m_builder(m_composer.builder())
    {
    }

    Result<OutputFile> compose()
    {
        const NodeId root = m_builder.dict();
        const auto items = mappingItems(m_graph, m_source.optimWrapper);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(m_graph, items[i]);
            const bool known = key
                && (*key == "param_groups" || *key == "ds_version"
                    || std::find(kShardKeys.begin(), kShardKeys.end(), *key) != kShardKeys.end());
            if (!known)
                m_builder.setItem(root, m_composer.import(items[i]), m_composer.import(items[i + 1]));
        }
        set(root, "ds_version", m_builder.string(m_source.deepspeedVersion));
        const NodeId groups = paramGroups();
        set(root, "param_groups", groups);
        const NodeId nested = m_builder.dict();
        set(nested, "state", firstStep());
        set(nested, "param_groups", groups);
        set(root, "optimizer_state_dict", nested);
        return m_composer.finish(root, universalOptimName(), m_context->optimRecords);
    }

private:
    void set(NodeId mapping, std::string_view key, NodeId value)
    {
        m_builder.setItem(mapping, m_builder.string(key), value);
    }

    NodeId paramGroups()
    {
        const NodeId groups = m_builder.list();
        for (size_t g = 0; g < m_source.groups.size(); ++g) {
            const NodeId options = m_builder.dict();
            const auto items = mappingItems(m_graph, m_source.groups[g].options);
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                if (asString(m_graph, items[i]) != "params")
                    m_builder.setItem(options, m_composer.import(items[i]), m_composer.import(items[i + 1]));
            }
            set(options, "params", m_builder.list(std::array{m_builder.integer(static_cast<int64_t>(g))}));
            m_builder.append(groups, options);
        }
        return groups;
    }

    /// Stage 3 takes one step for all sub-groups from the entry of number 0.
    NodeId firstStep()
    {
        const NodeId state = m_builder.dict();
        if (m_context->target.units.empty())
            return state;
        const NodeId step = stepValue(m_composer, *m_context->target.units.front());
        const NodeId entry = m_builder.dict();
        if (step != kNoNode)
            set(entry, "step", step);
        m_builder.setItem(state, m_builder.integer(0), entry);
        return state;
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    ArchiveComposer m_composer;
    const PickleGraph& m_graph;
    PickleBuilder& m_builder;
};

ArchiveComposer formOnly(const ReshardContext& context)
{
    return {context.optimTemplate(), context.sourceIndex(context.source->rank0Optim),
        ArchiveComposer::Take::FormOnly};
}

} // namespace

Result<OutputFile> composeUniversalState(
    const std::shared_ptr<const ReshardContext>& context, uint32_t unit, uint32_t param, uint32_t state)
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
    builder.setItem(root, builder.string("cat_dim"), builder.integer(0));
    return composer.finish(root,
        universalStateName(context->source->params[index(id)].name, of.states[state].name),
        context->optimRecords);
}

Result<OutputFile> composeUniversalStep(
    const std::shared_ptr<const ReshardContext>& context, uint32_t unit, uint32_t param)
{
    const FlatUnit& of = *context->target.units[unit];
    ArchiveComposer composer = formOnly(*context);
    const NodeId root = stepValue(composer, of);
    return composer.finish(root,
        universalStateName(context->source->params[index(of.params[param])].name, "step"),
        context->optimRecords);
}

Result<OutputFile> composeUniversalOptim(const std::shared_ptr<const ReshardContext>& context)
{
    return UniversalOptim(context).compose();
}

} // namespace shardscope
