// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/target/expert_degree.h"

#include <memory>
#include <vector>

namespace shardscope {

/// The target's flat units, in the order of their numbers on disk (groups, or sub-groups; frozen ones last).
/// They carry params, partition, and states with names, dtypes and form, but no stored runs.
struct ReshardTarget {
    CheckpointKind kind = CheckpointKind::Unknown;
    uint32_t ranks = 1;
    std::vector<std::shared_ptr<const FlatUnit>> units;
    /// ZeRO-3: target sub-group numbers of each param group.
    std::vector<std::vector<uint32_t>> subGroupsOfGroup;
    /// Expert-parallel ranks where they are others than the source's, else 0; then its param groups, too, may
    /// be others: target group → the source's group that it has its options and states from.
    uint32_t expertRanks = 0;
    bool zenflow = false; ///< matrices column by column, as a ZenFlow source has them (zenflow_form.h)
    std::vector<uint32_t> sourceGroups;

    /// The source's param group that a param group takes its options and states from.
    [[nodiscard]] size_t sourceGroup(int32_t group) const
    {
        return expertRanks != 0 ? sourceGroups[static_cast<size_t>(group)] : static_cast<size_t>(group);
    }
    /// The flat units of which a rank holds a share, in the order of their numbers on disk.
    [[nodiscard]] std::vector<uint32_t> unitsOn(uint32_t dpRank) const;
};

/// UnitState::heldWhole of Muon's momentum in a target: true for ZeRO-1/2 without CPU offload. A ZeRO-1/2
/// source's own form stays; else it follows offload_optimizer in the source's ds_config.
bool isHeldWhole(const Checkpoint& source, const UnitState& momentum, CheckpointKind target);
/// The states of a source's unit as a target has them, without stored runs.
std::vector<UnitState> targetStates(const Checkpoint& source, const FlatUnit& unit, CheckpointKind target);

/// Lays the source's parameters out for a target of that kind (a ZeRO kind, Universal or one without ZeRO) on
/// `ranks`. ZeRO-3 splits every param group again for `subGroupSize`. Refused when parts of a param group
/// that must share a unit disagree about their states or step, or where experts do not divide over the ranks.
Result<ReshardTarget> layOutTarget(
    const Checkpoint& source, CheckpointKind kind, uint32_t ranks, uint64_t subGroupSize);
/// The same for another number of expert-parallel ranks (expert_degree.h), in the source's own kind.
Result<ReshardTarget> layOutExperts(
    const Checkpoint& source, CheckpointKind kind, uint32_t ranks, uint32_t expertRanks);

} // namespace shardscope
