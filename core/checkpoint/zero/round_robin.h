// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// ZeRO-1/2: sets Checkpoint::roundRobin from the configuration, the slice mappings and the order of names.
/// Adds a finding if they contradict each other.
void decideRoundRobin(Reading& reading, bool mappingsShowIt);

} // namespace shardscope
