// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/experts/expert_families.h"

namespace shardscope {

/// Who shares a sub-group of ZeRO-3 with AutoEP (fused_experts.h): all ranks, or, of experts, those that have
/// the same ones, as `ds_zero_partition_groups` of every rank's optimizer file says (runtime/zero/stage3.py,
/// _zero3_partition_group_metadata; 0.19.3 and later). Damaged where the shapes are not those of the layers'
/// experts or do not divide; Unsupported for experts beside other parameters, or ranks that are neither next
/// to one another nor as far apart as there are expert-parallel ranks.
Result<ExpertFamilies> subGroupFamilies(const Reading& reading, const FusedExperts& fused, uint32_t subGroup,
    const std::vector<NamedShape>& shapes);

} // namespace shardscope
