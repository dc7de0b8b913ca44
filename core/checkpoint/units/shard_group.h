// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// MiCS (runtime/zero/mics.py, DeepSpeed 0.9.3 to 0.19.6) partitions over shard groups of `mics_shard_size`
/// ranks that all hold the same, and only the first of them saves (engine.py,
/// is_first_weights_partition_group). Its number of ranks, from an optimizer file; nothing where the run had
/// no shard groups.
std::optional<uint32_t> shardGroupRanks(const Reading& reading, FileId optimFile);

} // namespace shardscope
