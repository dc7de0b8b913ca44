// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// What the ranks of a checkpoint hold of the partitioned states.
struct RankLoad {
    uint64_t leastBytes = 0; ///< of the rank with the fewest, all states together
    uint64_t mostBytes = 0;
    uint64_t elements = 0; ///< of all units, without padding
    uint64_t padding = 0; ///< elements, on all ranks together
    uint64_t mostPadding = 0; ///< of the rank with the most
};

/// Counts partitions, and tensors stored whole that are units; not the copies in model files. Shards that are
/// missing count nothing. O(units × ranks). Pure.
RankLoad rankLoad(const Checkpoint& checkpoint);

/// Bytes of all states of a unit that one rank of its partition stores.
uint64_t bytesOnRank(const FlatUnit& unit, uint32_t share);
/// The same of all units of a part, by data-parallel rank, without tensors stored whole. O(units).
uint64_t bytesOnRank(const Checkpoint& checkpoint, uint32_t part, uint32_t dpRank);

} // namespace shardscope
