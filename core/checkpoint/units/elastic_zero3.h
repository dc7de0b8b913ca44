// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/checkpoint/units/unit_states.h"

namespace shardscope {

/// Elastic ZeRO-3, as DeepSpeed's pull request #8031 describes it, which was closed unmerged: no release
/// writes or loads it. Masters lie as ever; the optimizer's states are a list under `base_optimizer_state`,
/// one mapping per sub-group (or per param group), in which a state is a list of tensors, one per parameter,
/// whose padding is cut off (stage3.py has had the helpers for that since 0.3.13: get_lean_optimizer_state).
/// The param groups may be missing.

/// Whether an optimizer file's wrapper has that form or something of its name.
bool isElasticZero3(const PickleGraph& graph, NodeId wrapper);

/// The param groups that the wrapper lists, in its nested optimizer state or by itself; empty where it lists
/// none.
std::vector<GroupEntry> elasticParamGroups(const PickleGraph& graph, NodeId wrapper);

/// The same without options. A list of states per param group tells how many parameters each has. Else the
/// sub-groups' sizes tell: one that is smaller than sub_group_size ends its group, and of larger ones the
/// number of groups tells, where the scheduler or the list of states has it. Nothing where that leaves a
/// choice.
std::optional<std::vector<GroupEntry>> groupsFromSizes(
    const Reading& reading, const ShapeLists& subGroups, const PickleGraph& graph, NodeId wrapper);

/// The entry that has the states of a sub-group, and where in its lists the sub-group's parameters begin.
/// `counts`: parameters per sub-group.
struct ElasticEntry {
    NodeId state = kNoNode; ///< kNoNode where the list is of another length
    uint32_t firstSlice = 0;
};
ElasticEntry elasticEntry(const PickleGraph& graph, NodeId wrapper, uint32_t subGroup,
    const std::vector<GroupEntry>& groups, const std::vector<uint32_t>& counts);

/// Whether any rank keeps the state without padding: as a list of tensors, or shorter than its partition.
bool keepsSlices(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    std::string_view name);

/// Where every rank's part of every parameter lies. A part may be longer than its payload, which comes first:
/// padding was cut off by the last rank's share alone. What is shorter, missing or no tensor leaves the rank
/// absent, with a finding.
UnitState collectSlices(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    std::string_view name, const std::string& unitText);

} // namespace shardscope
