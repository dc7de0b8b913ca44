// SPDX-License-Identifier: Apache-2.0
#include "core/plan/expert_records.h"

#include "core/torchfile/pickle_values.h"

#include <map>
#include <string_view>

namespace shardscope {

namespace {

using Changes = std::map<std::string_view, NodeId>;

/// A mapping's entries as they are but for those that `changes` has; keys that it lacks stay out.
NodeId changed(ArchiveComposer& composer, NodeId mapping, const Changes& changes)
{
    const PickleGraph& graph = composer.graph();
    const NodeId out = composer.builder().dict();
    const auto items = mappingItems(graph, mapping);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        const auto change = key ? changes.find(*key) : changes.end();
        composer.builder().setItem(out, composer.import(items[i]),
            change == changes.end() ? composer.import(items[i + 1]) : change->second);
    }
    return out;
}

} // namespace

ExpertRecords::ExpertRecords(const ReshardContext& context, uint32_t dpRank)
    : m_context(context)
    , m_fused(FusedExperts::of(*context.source))
    , m_dpRank(dpRank)
{
    const auto isFused = [&](const std::string& name) {
        return !m_fused.fusedNameOf(name).empty() || m_fused.withoutRank(name).size() != name.size();
    };
    for (const auto& unit : context.target.units) {
        const auto share = unit->partitionRankOf(dpRank);
        if (m_fused.isEmpty() || !unit->isFlat() || !share || unit->params.empty()
            || !isFused(context.source->params[index(unit->params.front())].name))
            continue;
        m_replica = *share;
        m_replicas = unit->partition.ranks();
        m_expertRank = m_fused.rankOf(unit->rankStride == 1 ? unit->firstRank / m_replicas : unit->firstRank);
        break;
    }
}

void ExpertRecords::replaceInModelFile(ArchiveComposer& composer) const
{
    const PickleGraph& graph = composer.graph();
    const NodeId layers = lookup(graph, graph.root(), "ds_autoep_layers");
    replaceLayers(composer, layers);
    const NodeId info = lookup(graph, graph.root(), "universal_checkpoint_info");
    if (const NodeId again = lookup(graph, info, "ds_autoep_layers"); again != layers)
        replaceLayers(composer, again);
    replaceFolding(composer, m_dpRank, m_context.target.ranks);
}

void ExpertRecords::replaceInOptimFile(ArchiveComposer& composer) const
{
    replaceFolding(composer, m_dpRank, m_context.target.ranks);
}

void ExpertRecords::replaceInExpertFile(ArchiveComposer& composer) const
{
    const PickleGraph& graph = composer.graph();
    const NodeId old = lookup(graph, graph.root(), kFolding);
    if (old == kNoNode || m_fused.isEmpty())
        return;
    PickleBuilder& builder = composer.builder();
    composer.substitute(old,
        changed(composer, old,
            {{"zero_partition_rank", builder.integer(0)},
                {"zero_partition_count", builder.integer(m_replicas)}}));
}

void ExpertRecords::replaceLayers(ArchiveComposer& composer, NodeId layers) const
{
    const PickleGraph& graph = composer.graph();
    PickleBuilder& builder = composer.builder();
    for (const NodeId entry : sequenceItems(graph, layers)) {
        if (!isMapping(graph, entry))
            continue;
        const int64_t local = asInteger(graph, lookup(graph, entry, "num_local_experts")).value_or(0);
        composer.substitute(entry,
            changed(composer, entry,
                {{"ep_rank", builder.integer(m_expertRank)},
                    {"expert_data_parallel_rank", builder.integer(m_replica)},
                    {"expert_data_parallel_world_size", builder.integer(m_replicas)},
                    {"global_expert_start", builder.integer(m_expertRank * local)},
                    {"global_expert_end", builder.integer((m_expertRank + 1) * local)}}));
    }
}

void ExpertRecords::replaceFolding(ArchiveComposer& composer, uint32_t rank, uint32_t count) const
{
    const PickleGraph& graph = composer.graph();
    const NodeId old = lookup(graph, graph.root(), kFolding);
    if (old == kNoNode || m_fused.isEmpty())
        return;
    PickleBuilder& builder = composer.builder();
    Changes changes{{"ep_rank", builder.integer(m_expertRank)},
        {"zero_partition_rank", builder.integer(rank)}, {"zero_partition_count", builder.integer(count)}};
    const NodeId families = lookup(graph, old, "param_families");
    const auto items = mappingItems(graph, families);
    const bool perParam = items.size() > 1 && isMapping(graph, items[1]); // model files have bare names there
    if (perParam) {
        const NodeId renewed = builder.dict();
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(graph, items[i]);
            const bool expert = name && m_fused.layerOf(*name) != nullptr;
            builder.setItem(renewed, composer.import(items[i]),
                changed(composer, items[i + 1],
                    {{"zero_partition_rank", builder.integer(expert ? m_replica : rank)},
                        {"zero_partition_count", builder.integer(expert ? m_replicas : count)}}));
        }
        changes.emplace("param_families", renewed);
    }
    composer.substitute(old, changed(composer, old, changes));
}

} // namespace shardscope
