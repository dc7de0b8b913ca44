// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/target/reshard_target.h"

#include <cstdint>
#include <set>
#include <utility>

namespace shardscope {

/// How the momentum of Muon's matrices is written (core/checkpoint/model/muon.h).
enum class MuonForm {
    None, ///< the target has no such momentum, or keeps it as any other state
    HeldWhole, ///< ZeRO-1/2: a rank keeps a parameter whole if it has a share of it
    Partitioned ///< ZeRO-1/2 with CPU offload
};

/// Of the first param group that has one.
MuonForm muonFormOf(const Checkpoint& source, CheckpointKind target);

/// (unit, state) of a target.
using HeldStates = std::set<std::pair<uint32_t, uint32_t>>;
/// The states in which a rank keeps a parameter whole if it has a share of it.
HeldStates heldWholeStates(const Checkpoint& source, const ReshardTarget& target);

} // namespace shardscope
