// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// ZeRO-1/2: sets Checkpoint::roundRobin from the configuration, the slice mappings and the order of names.
/// Adds a finding if they contradict each other.
void decideRoundRobin(Reading& reading, bool mappingsShowIt);

/// ZeRO-1/2: compares the places of parameters in the optimizer files with those in the units. Marks a file
/// of another rank as Foreign. Damaged if no order explains the places. Returns whether they show
/// round_robin_gradients: stock DeepSpeed records the places in the order before it, which is not the order
/// on disk.
Result<bool> checkSliceMappings(Reading& reading);

} // namespace shardscope
