// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/unit_states.h"

namespace shardscope {

/// Where the model file stores the states of a group of whole tensors, by position in the unit.
struct WholeSources {
    std::vector<StoredRun> masters;
    DType masterType = DType::Float32;
    std::vector<NodeId> entries; ///< of the torch optimizer's `state`; kNoNode if it has none
    bool stepOfLast = false; ///< FusedAdam only advances the step of the group's last parameter
};

/// Fills states and step of a unit of parameters that are stored whole. The source is the torch optimizer's
/// state in rank 0's model file. Unsupported for a state that is not stored in row-major order.
Status fillStage0Unit(const Reading& reading, FlatUnit& unit, const WholeSources& sources);

/// What is known about one param group of an optimizer without ZeRO from its state alone, without names.
struct Stage0Group {
    GroupEntry entry;
    NodeId flat = kNoNode; ///< `fp16`: the group's masters, one after another
    StoredRun flatRun;
    DType masterType = DType::Float32;
    std::vector<NodeId> masters; ///< `fp16-unfused`: one per parameter
    std::vector<NodeId> states; ///< kinds with single parameters: kNoNode if a parameter has none
    std::vector<std::optional<Shape>> shapes; ///< of those parameters, if known
    std::vector<std::optional<uint64_t>> masterBytes; ///< offsets of their masters in the file
};

struct Stage0Groups {
    NodeId state = kNoNode; ///< of the torch optimizer: one entry per parameter, or per flat group
    std::vector<Stage0Group> groups;
};

/// The form that `optimizer` of a model file has.
CheckpointKind formOfOptimizer(const PickleGraph& graph, NodeId optimizer);

/// The groups of `optimizer` in the model file `file`. Unsupported for what this build does not read. All
/// other errors mean damage.
Result<Stage0Groups> readStage0Groups(
    const Reading& reading, FileId file, NodeId optimizer, CheckpointKind kind);

} // namespace shardscope
