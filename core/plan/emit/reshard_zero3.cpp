// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/fused_experts.h"
#include "core/plan/emit/expert_records.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/optimizer_entries.h"
#include "core/plan/emit/reshard_context.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <unordered_map>

namespace shardscope {

namespace {

/// Writes one ZeRO-3 optimizer file (runtime/zero/stage3.py, _rigid_state_dict) for the target's ranks and
/// sub-groups.
class Zero3Optim
{
public:
    Zero3Optim(std::shared_ptr<const ReshardContext> context, uint32_t rank)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_rank(rank)
        , m_units(m_context->target.unitsOn(rank))
        , m_composer(m_context->optimTemplate(), m_context->sourceIndex(m_source.templateOptim))
        , m_graph(m_composer.graph())
        , m_wrapper(lookup(m_graph, m_graph.root(), "optimizer_state_dict"))
        , m_torchState(lookup(m_graph, m_wrapper, "optimizer_state_dict"))
    {
    }

    Result<OutputFile> compose(const std::string& name)
    {
        PickleBuilder& builder = m_composer.builder();
        if (const NodeId count = lookup(m_graph, m_wrapper, "partition_count"); count != kNoNode)
            m_composer.substitute(count, builder.integer(m_context->target.ranks));
        replaceMasters();
        replaceStates();
        replaceGroupLists();
        replacePartitionGroups();
        const NodeId scaler = lookup(m_graph, m_wrapper, "loss_scaler");
        if (const NodeId renewed = renewedScaler(m_composer, scaler); renewed != kNoNode)
            m_composer.substitute(scaler, renewed);
        ExpertRecords(*m_context, m_rank).replaceInOptimFile(m_composer);
        return m_composer.finish(name, m_context->optimRecords);
    }

private:
    void replaceMasters()
    {
        const NodeId list = lookup(m_graph, m_wrapper, "fp32_flat_groups");
        const auto old = sequenceItems(m_graph, list);
        const auto tensor = old.empty() ? asTensor(m_graph, list) : asTensor(m_graph, old.front());
        std::vector<NodeId> masters;
        for (const uint32_t unit : m_units)
            masters.push_back(
                flatTensor(m_composer, m_context, unit, 0, m_rank, tensor && tensor->requiresGrad));
        m_composer.substitute(list, m_composer.builder().list(masters));
    }

    /// The state entry of a new sub-group follows its param group's first old one, key by key.
    void replaceStates()
    {
        const NodeId old = lookup(m_graph, m_torchState, "state");
        PickleBuilder& builder = m_composer.builder();
        const NodeId states = builder.dict();
        for (size_t g = 0; g < m_source.groups.size(); ++g) {
            if (m_source.groups[g].units.empty())
                continue;
            const NodeId first = sourceEntry(m_source, g);
            if (first == kNoNode)
                continue; // saved before the first step
            for (const uint32_t subgroup : m_context->target.subGroupsOfGroup[g])
                builder.setItem(states, builder.integer(subgroup),
                    stateEntry(m_composer, m_context, m_units[subgroup], m_rank, first));
        }
        m_composer.substitute(old, states);
    }

    void replaceGroupLists()
    {
        PickleBuilder& builder = m_composer.builder();
        for (size_t g = 0; g < m_source.groups.size(); ++g) {
            std::vector<NodeId> numbers;
            for (const uint32_t subgroup : m_context->target.subGroupsOfGroup[g])
                numbers.push_back(builder.integer(subgroup));
            m_composer.substitute(
                lookup(m_graph, m_source.groups[g].options, "params"), builder.list(numbers));
        }
    }

    /// AutoEP: who shares each sub-group; stock compares it with what its own run has.
    void replacePartitionGroups()
    {
        const NodeId old = lookup(m_graph, m_wrapper, "ds_zero_partition_groups");
        const auto entries = sequenceItems(m_graph, old);
        if (entries.empty())
            return;
        PickleBuilder& builder = m_composer.builder();
        const FusedExperts fused = FusedExperts::of(m_source);
        std::vector<NodeId> made;
        for (uint32_t number = 0; number < m_units.size(); ++number) {
            const FlatUnit& unit = *m_context->target.units[m_units[number]];
            const ParamGroup& group = m_source.groups[static_cast<size_t>(unit.group)];
            const size_t like = m_source.units[index(group.units.front())].subgroup.value_or(0);
            std::vector<NodeId> ranks;
            for (uint32_t i = 0; i < unit.partition.ranks(); ++i)
                ranks.push_back(builder.integer(fused.stageRankOf(unit.dpRankOf(i))));
            made.push_back(builder.dict());
            const auto set = [&](const char* key, NodeId value) {
                builder.setItem(made.back(), builder.string(key), value);
            };
            set("sub_group", builder.integer(number));
            set("partition_count", builder.integer(unit.partition.ranks()));
            set("partition_rank", builder.integer(unit.partitionRankOf(m_rank).value_or(0)));
            set("partition_ranks", builder.list(ranks));
            for (const char* key : {"families", "group_names"})
                set(key,
                    m_composer.import(lookup(m_graph, entries[std::min(like, entries.size() - 1)], key)));
        }
        m_composer.substitute(old, builder.list(made));
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    uint32_t m_rank;
    std::vector<uint32_t> m_units; ///< that the rank holds a share of, by the numbers of their sub-groups
    ArchiveComposer m_composer;
    const PickleGraph& m_graph;
    NodeId m_wrapper;
    NodeId m_torchState;
};

/// Writes one ZeRO-3 model file: placeholders and buffers as in rank 0's, shapes and frozen fragments for the
/// target.
class Zero3Model
{
public:
    Zero3Model(std::shared_ptr<const ReshardContext> context, uint32_t rank)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_rank(rank)
        , m_composer(m_context->modelTemplate(), m_context->sourceIndex(m_source.templateModel))
        , m_graph(m_composer.graph())
        , m_fused(FusedExperts::of(m_source))
    {
        if (m_context->modelUse)
            m_composer.leaveOutUnused(*m_context->modelUse);
    }

    Result<OutputFile> compose(const std::string& name)
    {
        PickleBuilder& builder = m_composer.builder();
        m_composer.substitute(
            lookup(m_graph, m_graph.root(), "dp_world_size"), builder.integer(m_context->target.ranks));
        replaceShapes();
        replaceFragments();
        ExpertRecords(*m_context, m_rank).replaceInModelFile(m_composer);
        // Stock fills shared_params on the first rank only (runtime/engine.py, _get_shared_params).
        const NodeId shared = lookup(m_graph, m_graph.root(), "shared_params");
        if (m_rank > 0 && shared != kNoNode && isMapping(m_graph, shared))
            m_composer.substitute(shared, builder.dict());
        if (m_rank == 0)
            markWholeTensors(m_composer, m_context,
                m_source.templateModel); // buffers: the first file's stand for all in digests
        return m_composer.finish(name, m_context->modelRecords);
    }

private:
    void replaceShapes()
    {
        PickleBuilder& builder = m_composer.builder();
        const NodeId old = lookup(m_graph, m_graph.root(), "param_shapes");
        std::unordered_map<std::string_view, std::pair<NodeId, NodeId>> entries;
        for (const NodeId group : sequenceItems(m_graph, old)) {
            const auto items = mappingItems(m_graph, group);
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                if (const auto name = asString(m_graph, items[i]))
                    entries.emplace(*name, std::pair(items[i], items[i + 1]));
            }
        }
        const NodeId list = builder.list();
        for (const auto& unit : m_context->target.units) {
            if (unit->kind != UnitKind::SubGroup || !unit->partitionRankOf(m_rank))
                continue;
            const NodeId shapes = m_composer.orderedDict();
            for (const ParamId param : unit->params) {
                const auto entry = entries.find(m_fused.withoutRank(m_source.params[index(param)].name));
                builder.setItem(
                    shapes, m_composer.import(entry->second.first), m_composer.import(entry->second.second));
            }
            builder.append(list, shapes);
        }
        m_composer.substitute(old, list);
    }

    /// Parameter name → unit of the target.
    [[nodiscard]] std::unordered_map<std::string_view, uint32_t> frozenUnits() const
    {
        std::unordered_map<std::string_view, uint32_t> out;
        const auto& units = m_context->target.units;
        for (uint32_t i = 0; i < units.size(); ++i) {
            if (units[i]->kind == UnitKind::Frozen)
                out.emplace(m_source.params[index(units[i]->params.front())].name, i);
        }
        return out;
    }

    void replaceFragments()
    {
        const NodeId old = lookup(m_graph, m_graph.root(), "frozen_param_fragments");
        const auto items = mappingItems(m_graph, old);
        const auto units = frozenUnits();
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(m_graph, items[i]);
            const auto unit = name ? units.find(*name) : units.end();
            if (unit == units.end())
                continue; // an empty parameter: nothing is partitioned
            const auto tensor = asTensor(m_graph, items[i + 1]);
            m_composer.substitute(items[i + 1],
                flatTensor(m_composer, m_context, unit->second, 0, m_rank, tensor && tensor->requiresGrad));
        }
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    uint32_t m_rank;
    ArchiveComposer m_composer;
    const PickleGraph& m_graph;
    FusedExperts m_fused;
};

} // namespace

Result<OutputFile> composeZero3Optim(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    return Zero3Optim(context, rank).compose(name);
}

Result<OutputFile> composeZero3Model(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    return Zero3Model(context, rank).compose(name);
}

} // namespace shardscope
