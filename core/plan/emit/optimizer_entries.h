// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/emit/reshard_context.h"

namespace shardscope {

/// What optimizer files of all ZeRO stages consist of, made for a target unit on a target rank. The composer
/// reads the source's template optimizer file.

/// One entry of the optimizer's `state`, in the order of `old`, the source's entry for the unit's param
/// group: flat states are rebuilt, scalars are copied. Where there is none (universal folders): from the
/// model's facts. kNoNode when the optimizer keeps no state for the unit.
NodeId stateEntry(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t rank, NodeId old);

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

/// Whether a key of the wrapper describes the source's shards, so that it is not carried.
bool describesShards(std::string_view wrapperKey);
/// A param group's options with `numbers` as its `params`, last as torch has them. A group of experts is
/// named after their degree (moe/layer.py), which is `expertRanks` where that is not 0.
NodeId groupOptions(
    ArchiveComposer& composer, NodeId options, std::span<const NodeId> numbers, uint32_t expertRanks = 0);

/// `param_alignment_paddings` of ZeRO-1/2, from the target's units: stock DeepSpeed compares this list with
/// its own and refuses another one. Never the source's list, which may be wrong or left out while reading.
/// kNoNode where the source does not have the key and parameters are back to back.
NodeId alignmentPaddings(ArchiveComposer& composer, const ReshardContext& context);

} // namespace shardscope
