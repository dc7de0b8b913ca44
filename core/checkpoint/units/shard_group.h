// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// MiCS (runtime/zero/mics.py, DeepSpeed 0.9.3 to 0.19.6) partitions over shard groups of `mics_shard_size`
/// ranks. All groups hold the same data, and only the first one saves (engine.py,
/// is_first_weights_partition_group). Returns the number of ranks in a group, from an optimizer file. Nothing
/// if the run had no shard groups.
std::optional<uint32_t> shardGroupRanks(const Reading& reading, FileId optimFile);

} // namespace shardscope
