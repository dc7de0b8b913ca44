// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Where the model file stores the states of a group of whole tensors, by position in the unit.
struct WholeSources {
    std::vector<StoredRun> masters;
    DType masterType = DType::Float32;
    std::vector<NodeId> entries; ///< of the torch optimizer's `state`; kNoNode if it has none
    bool stepOfLast = false; ///< FusedAdam only advances the step of the group's last parameter
};

/// Fills states and step of a unit of parameters that are stored whole. The source is the torch optimizer's
/// state in rank 0's model file. Refuses states with another shape than their parameter.
void fillStage0Unit(const Reading& reading, FlatUnit& unit, const WholeSources& sources);

} // namespace shardscope
