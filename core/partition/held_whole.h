// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/partition/flat_partition.h"

namespace shardscope {

/// The parameters of which a rank holds a share, each whole, back to back and without padding: how ZeRO-1/2
/// keep the momentum of Muon, whose update needs whole matrices (DeepSpeed runtime/zero/stage_1_and_2.py,
/// get_flat_partition and _muon_momentum_buffer). A parameter that crosses a border is kept by every rank
/// that has a share of it. Contiguous partitions only; all in elements.
struct HeldWhole {
    uint64_t before = 0; ///< of the first parameter, which lie on lower ranks
    uint64_t own = 0; ///< the rank's share: from its first parameter's element `before` on
    uint64_t after = 0; ///< of the last parameter, which lie on higher ranks
    uint32_t first = 0; ///< positions of the first and the last parameter, where `own` is not 0
    uint32_t last = 0;

    [[nodiscard]] uint64_t elements() const { return before + own + after; }
};

HeldWhole heldWholeOn(const FlatPartition& partition, uint32_t rank);

} // namespace shardscope
