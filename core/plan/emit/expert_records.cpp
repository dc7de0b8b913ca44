// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/expert_records.h"

#include "core/checkpoint/model/model_states.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <map>
#include <string_view>

namespace shardscope {

namespace {

using Changes = ArchiveComposer::Changes;

NodeId numbers(PickleBuilder& builder, const std::vector<int64_t>& values)
{
    std::vector<NodeId> items;
    for (const int64_t value : values)
        items.push_back(builder.integer(value));
    return builder.list(items);
}

/// `experts_by_rank` of checkpoint/autoep_affine.py: all ranks have as many, in their order.
NodeId placementRanks(PickleBuilder& builder, int64_t experts, int64_t ranks)
{
    std::vector<NodeId> out;
    for (int64_t rank = 0; rank < ranks; ++rank) {
        std::vector<int64_t> own;
        for (int64_t expert = rank * experts / ranks; expert < (rank + 1) * experts / ranks; ++expert)
            own.push_back(expert);
        out.push_back(builder.dict());
        builder.setItem(out.back(), builder.string("rank"), builder.integer(rank));
        builder.setItem(out.back(), builder.string("experts"), numbers(builder, own));
    }
    return builder.list(out);
}

/// Where each rank's tensor is in the one of all experts, as checkpoint/autoep_affine.py spells a run of
/// experts that one rank has: one piece.
NodeId affineRanks(PickleBuilder& builder, const std::vector<int64_t>& shape, int64_t ranks)
{
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i > 0; --i)
        strides[i - 1] = strides[i] * shape[i];
    std::vector<int64_t> own = shape;
    own.front() /= ranks;
    const auto place = [&](int64_t offset) {
        return builder.list(std::vector{builder.integer(offset), numbers(builder, strides)});
    };
    const NodeId out = builder.dict();
    for (int64_t rank = 0; rank < ranks; ++rank) {
        const NodeId piece = builder.dict();
        builder.setItem(piece, builder.string("shape"), numbers(builder, own));
        builder.setItem(piece, builder.string("source"), place(rank * own.front() * strides.front()));
        builder.setItem(piece, builder.string("dest"), place(0));
        builder.setItem(piece, builder.string("locations"), numbers(builder, {rank}));
        const NodeId shard = builder.dict();
        builder.setItem(shard, builder.string("shard_shape"), numbers(builder, own));
        builder.setItem(shard, builder.string("pieces"), builder.list(std::vector{piece}));
        builder.setItem(out, builder.integer(rank), shard);
    }
    return out;
}

/// `affine_maps` of a layer for another number of ranks; kNoNode where it has none, as before 0.19.8.
NodeId affineMaps(ArchiveComposer& composer, NodeId layer, int64_t experts, int64_t ranks)
{
    const PickleGraph& graph = composer.graph();
    PickleBuilder& builder = composer.builder();
    const NodeId old = lookup(graph, layer, "affine_maps");
    const NodeId from = lookup(graph, old, "params");
    if (mappingItems(graph, from).empty())
        return kNoNode;
    const NodeId params = composer.importChanged(from, [&](std::string_view, NodeId value) {
        std::vector<int64_t> shape;
        for (const NodeId size : sequenceItems(graph, lookup(graph, value, "logical_shape")))
            shape.push_back(asInteger(graph, size).value_or(0));
        const bool isKnown = !shape.empty() && shape.front() == experts;
        return isKnown ? composer.importChanged(value, Changes{{"ranks", affineRanks(builder, shape, ranks)}})
                       : composer.import(value);
    });
    return composer.importChanged(old, Changes{{"params", params}});
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
    const ModelStates old = modelStates(graph);
    replaceLayers(composer, old.autoEpLayers);
    if (old.universalAutoEpLayers != old.autoEpLayers)
        replaceLayers(composer, old.universalAutoEpLayers);
    replaceFolding(composer, m_dpRank, m_context.target.ranks);
}

void ExpertRecords::replaceInOptimFile(ArchiveComposer& composer) const
{
    replaceFolding(composer, m_dpRank, m_context.target.ranks);
}

void ExpertRecords::replaceInExpertFile(ArchiveComposer& composer) const
{
    const PickleGraph& graph = composer.graph();
    const NodeId old = modelStates(graph).folding;
    if (old == kNoNode || m_fused.isEmpty())
        return;
    PickleBuilder& builder = composer.builder();
    composer.substitute(old,
        composer.importChanged(old,
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
        const int64_t experts = asInteger(graph, lookup(graph, entry, "num_experts")).value_or(0);
        const int64_t ranks = m_context.target.expertRanks;
        const int64_t local = experts / (ranks == 0 ? int64_t{m_fused.ranks()} : ranks);
        Changes changes{{"ep_rank", builder.integer(m_expertRank)},
            {"expert_data_parallel_rank", builder.integer(m_replica)},
            {"expert_data_parallel_world_size", builder.integer(m_replicas)},
            {"global_expert_start", builder.integer(m_expertRank * local)},
            {"global_expert_end", builder.integer((m_expertRank + 1) * local)}};
        if (ranks != 0) {
            changes.emplace("num_local_experts", builder.integer(local));
            changes.emplace("ep_size", builder.integer(ranks));
            changes.emplace("ep_group_name", builder.string("ep_size_" + std::to_string(ranks)));
            if (const NodeId placement = lookup(graph, entry, "expert_placement"); placement != kNoNode)
                changes.emplace("expert_placement",
                    composer.importChanged(placement,
                        {{"ep_size", builder.integer(ranks)},
                            {"ranks", placementRanks(builder, experts, ranks)}}));
            if (const NodeId maps = affineMaps(composer, entry, experts, ranks); maps != kNoNode)
                changes.emplace("affine_maps", maps);
        }
        composer.substitute(entry, composer.importChanged(entry, changes));
    }
}

void ExpertRecords::replaceFolding(ArchiveComposer& composer, uint32_t rank, uint32_t count) const
{
    const PickleGraph& graph = composer.graph();
    const NodeId old = modelStates(graph).folding;
    if (old == kNoNode || m_fused.isEmpty())
        return;
    PickleBuilder& builder = composer.builder();
    Changes changes{{"ep_rank", builder.integer(m_expertRank)},
        {"zero_partition_rank", builder.integer(rank)}, {"zero_partition_count", builder.integer(count)}};
    const NodeId families = lookup(graph, old, "param_families");
    const auto items = mappingItems(graph, families);
    const bool perParam = items.size() > 1 && isMapping(graph, items[1]); // model files have bare names there
    if (perParam)
        changes.emplace(
            "param_families", composer.importChanged(families, [&](std::string_view name, NodeId value) {
                const bool expert = m_fused.layerOf(name) != nullptr;
                return composer.importChanged(value,
                    Changes{{"zero_partition_rank", builder.integer(expert ? m_replica : rank)},
                        {"zero_partition_count", builder.integer(expert ? m_replicas : count)}});
            }));
    composer.substitute(old, composer.importChanged(old, changes));
}

} // namespace shardscope
