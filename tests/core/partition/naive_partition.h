// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/partition/flat_partition.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::oracle {

/// One slot of a rank's flat buffer: (parameter, element), or nothing for padding.
using Slot = std::optional<std::pair<uint32_t, uint64_t>>;
/// Every slot of every rank.
using Slots = std::vector<std::vector<Slot>>;

/// ZeRO-1/2: append every element of every parameter, after each but the last append padding until
/// parameterAlignment divides the length; append padding until alignmentFactor · ranks divides it, cut into
/// `ranks` equal parts.
Slots contiguous(const std::vector<uint64_t>& params, uint32_t ranks, uint32_t alignmentFactor,
    uint32_t parameterAlignment = 1);
/// ZeRO-3: for every parameter, append padding until `ranks` divides the length, give every rank one part in
/// turn.
Slots sliced(const std::vector<uint64_t>& params, uint32_t ranks);

/// The run of equal kind around `offset`: one parameter's elements, or padding. `borders` are offsets no run
/// crosses.
FlatPiece pieceAround(
    const Slots& slots, uint32_t rank, uint64_t offset, const std::vector<uint64_t>& borders);

/// stage3.py's loop over per-rank lengths, without the shortcut for a group that fits.
std::vector<SubGroupRange> subGroups(const std::vector<uint64_t>& params, uint32_t ranks, uint64_t size);

} // namespace shardscope::oracle
