// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/emit/reshard_context.h"

namespace shardscope {

/// How the momentum of Muon's matrices is written (core/checkpoint/model/muon.h).

enum class MuonForm {
    None, ///< the target has no such momentum, or keeps it as any other state
    HeldWhole, ///< ZeRO-1/2: every rank keeps the parameters that it has a share of whole
    Partitioned ///< ZeRO-1/2 with CPU offload
};

/// Of one param group, or of all: the first that has one. A ZeRO-1/2 source's own form stays; else it follows
/// offload_optimizer in the source's ds_config.
MuonForm muonFormOf(const Checkpoint& source, CheckpointKind target, const ParamGroup& group);
MuonForm muonFormOf(const Checkpoint& source, CheckpointKind target);

/// A new tensor of what `rank` keeps of a target unit's momentum: its own share, and what other ranks have of
/// the parameters at its borders, which no digest counts twice.
NodeId heldWholeTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t state, uint32_t rank);

} // namespace shardscope
