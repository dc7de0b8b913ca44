// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/emit/reshard_context.h"

namespace shardscope {

/// What optimizer files, and model files without ZeRO, have of an optimizer, made for a target unit.

/// Parts of the source's rank-0 optimizer file for an archive that is made from it, or from the model file:
/// then values are copied, and tensors get storages of their own. The composer and the context must outlive
/// it.
class OptimParts
{
public:
    OptimParts(ArchiveComposer& composer, const ReshardContext& context);

    [[nodiscard]] const PickleGraph& graph() const { return m_file.pickle(); }
    ArchiveComposer& composer() { return m_composer; }
    [[nodiscard]] const Checkpoint& source() const { return *m_context.source; }
    NodeId import(NodeId node);
    /// Scalars kept as tensors get a storage of their own per unit: optimizers advance each one in place.
    NodeId scalar(NodeId node);

private:
    NodeId tensorOf(NodeId node);
    void placeTensors(NodeId node, int depth);

    ArchiveComposer& m_composer;
    const ReshardContext& m_context;
    const TorchFile& m_file;
    PickleImporter m_importer; ///< if the composer reads another file
};

/// One entry of the optimizer's `state`, in the order of `old`, the source's entry for the unit's param
/// group: states of the unit's elements come from `tensorOf`, by number, scalars are copied. Where there is
/// none (universal folders): from the model's facts. kNoNode when the optimizer keeps no state for the unit.
NodeId stateEntry(OptimParts& parts, const FlatUnit& unit, NodeId old,
    const std::function<NodeId(uint32_t state)>& tensorOf);

/// What torch's optimizer returns from state_dict().
struct TorchState {
    NodeId state = kNoNode; ///< entries by number
    NodeId paramGroups = kNoNode;

    /// A new mapping of both.
    [[nodiscard]] NodeId in(PickleBuilder& builder) const;
};
/// One of its param groups.
struct TorchGroup {
    NodeId options = kNoNode; ///< the source's; its `params` are left out
    std::vector<std::pair<int64_t, NodeId>> entries; ///< numbers, with kNoNode where nothing is kept
};
/// A group of experts is named after their degree (moe/layer.py), which is `expertRanks` where that is not 0.
TorchState torchState(OptimParts& parts, std::span<const TorchGroup> groups, uint32_t expertRanks = 0);

/// The entry of a source's param group in its rank-0 optimizer file; kNoNode when there is none. Of experts
/// it is that of the ones which this rank holds.
NodeId sourceEntry(const Checkpoint& source, size_t group);

/// The step of a unit in the form in which its optimizer keeps it; kNoNode where it keeps none there.
NodeId stepValue(ArchiveComposer& composer, const FlatUnit& unit);

/// `param_slice_mappings` of ZeRO-1/2: per group, name → fragment_address, in flat order.
NodeId sliceMappings(ArchiveComposer& composer, const ReshardContext& context, uint32_t rank);

/// The padding of a group that ZeRO-1/2 since 0.16.4 record per rank; BF16_Optimizer all of it on the last
/// one.
int64_t groupPadding(const ReshardContext& context, uint32_t unit, uint32_t dpRank);

/// Whether a key of the wrapper describes the source's shards, or is nested, so that it is not carried.
bool describesShards(std::string_view wrapperKey);

/// `param_alignment_paddings` of ZeRO-1/2, from the target's units: stock DeepSpeed compares this list with
/// its own and refuses another one. Never the source's list, which may be wrong or left out while reading.
/// kNoNode where the source does not have the key and parameters are back to back.
NodeId alignmentPaddings(ArchiveComposer& composer, const ReshardContext& context);

} // namespace shardscope
