// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/partition/flat_partition.h"

namespace shardscope {

/// All parameters with elements on a rank, each complete, in order and without padding. ZeRO-1/2 store Muon's
/// momentum in this form, because its update needs whole matrices (DeepSpeed runtime/zero/stage_1_and_2.py,
/// get_flat_partition and _muon_momentum_buffer). Every rank with elements of a parameter stores all of it.
/// Contiguous partitions only. All numbers are in elements.
struct HeldWhole {
    uint64_t before = 0; ///< elements of the first parameter on lower ranks
    uint64_t own = 0; ///< the rank's own elements, from element `before` of its first parameter
    uint64_t after = 0; ///< elements of the last parameter on higher ranks
    uint32_t first = 0; ///< positions of the first and the last parameter, if `own` is not 0
    uint32_t last = 0;

    [[nodiscard]] uint64_t elements() const { return before + own + after; }
};

HeldWhole heldWholeOn(const FlatPartition& partition, uint32_t rank);

} // namespace shardscope
