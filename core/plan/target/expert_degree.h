// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <cstdint>
#include <vector>

namespace shardscope {

/// A param group of the target: one of the source's unchanged, or experts repartitioned to expert-parallel
/// ranks.
struct TargetGroup {
    uint32_t source = 0; ///< the source's group whose options and states it has
    /// By expert-parallel rank: its experts' parameters in the optimizer's order. Empty: the group stays.
    std::vector<std::vector<ParamId>> families;
};

/// Of one rank's experts in one param group: where DeepSpeed splits them.
inline constexpr uint64_t kMaxExpertElements = 178'956'971;

/// Whether the checkpoint has experts in ranks of their own (deepspeed/moe/experts.py), AutoEP's too.
bool hasExperts(const Checkpoint& source);

/// The param groups of a run with another number of expert-parallel ranks: every module's experts in runs of
/// equal length, rank after rank (deepspeed/moe/layer.py), and groups of at most 178,956,971 elements, which
/// is where DeepSpeed splits them (moe/utils.py, split_params_into_different_moe_groups_for_optimizer).
/// Usage when a module's experts do not divide by `ranks`; Unsupported if the groups are not as that
/// function makes them.
Result<std::vector<TargetGroup>> groupsForExpertDegree(const Checkpoint& source, uint32_t ranks);

} // namespace shardscope
