// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/checkpoint/units/unit_states.h"

namespace shardscope {

/// Elastic ZeRO-3, as described in DeepSpeed's pull request #8031. That was closed unmerged: no release
/// writes or loads this form. Masters are stored as usual. The optimizer's states are a list under
/// `base_optimizer_state`, one mapping per sub-group (or per param group). A state in it is a list of tensors
/// without padding, one per parameter (since 0.3.13 stage3.py has the helpers for that:
/// get_lean_optimizer_state). The param groups may be missing.

/// Whether an optimizer file's wrapper has that form, or a key of that name.
bool isElasticZero3(const PickleGraph& graph, NodeId wrapper);

/// The param groups that the wrapper lists, in its nested optimizer state or directly. Empty if it lists
/// none.
std::vector<GroupEntry> elasticParamGroups(const PickleGraph& graph, NodeId wrapper);

/// The same, without options. A list of states per param group gives the number of parameters of each.
/// Without one, the sub-groups' sizes decide: a sub-group smaller than sub_group_size ends its group. For
/// larger ones the number of groups decides, if the scheduler or the list of states records it. Nothing if
/// several ways remain.
std::optional<std::vector<GroupEntry>> groupsFromSizes(
    const Reading& reading, const ShapeLists& subGroups, const PickleGraph& graph, NodeId wrapper);

/// The entry with the states of a sub-group, and the place in its lists where the sub-group's parameters
/// begin. `counts`: parameters per sub-group.
struct ElasticEntry {
    NodeId state = kNoNode; ///< kNoNode if the list has another length
    uint32_t firstSlice = 0;
};
ElasticEntry elasticEntry(const PickleGraph& graph, NodeId wrapper, uint32_t subGroup,
    const std::vector<GroupEntry>& groups, const std::vector<uint32_t>& counts);

/// Whether any rank stores the state without padding: as a list of tensors, or shorter than its partition.
bool keepsSlices(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    std::string_view name);

/// Where every rank's part of every parameter is stored. A part may be longer than its payload, which comes
/// first: only the last rank's padding was removed. If a part is too short, missing or not a tensor, the rank
/// is absent, with a finding.
UnitState collectSlices(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    std::string_view name);

} // namespace shardscope
