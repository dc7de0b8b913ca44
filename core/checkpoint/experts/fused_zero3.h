// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/experts/expert_families.h"

namespace shardscope {

/// Which ranks share a sub-group of ZeRO-3 with AutoEP (fused_experts.h). All ranks share a sub-group without
/// experts. The ranks with the same experts share a sub-group of experts. `ds_zero_partition_groups` of every
/// rank's optimizer file records this (runtime/zero/stage3.py, _zero3_partition_group_metadata; 0.19.3 and
/// later).
///
/// Damaged if the shapes are not those of the layers' experts, or do not divide. Unsupported if experts share
/// a sub-group with other parameters. Unsupported, too, if such ranks are neither adjacent nor spaced by the
/// number of expert-parallel ranks.
Result<ExpertFamilies> subGroupFamilies(const Reading& reading, const FusedExperts& fused, uint32_t subGroup,
    const std::vector<NamedShape>& shapes);

} // namespace shardscope
