// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/target/expert_degree.h"

namespace shardscope {

/// groupsForExpertDegree() for AutoEP's experts under ZeRO-1/2, which lie tensor after tensor, of each the
/// rank's own (module_inject/auto_ep_layer.py): the optimizer has a tensor of them for one parameter, and
/// param groups are split between such tensors.
Result<std::vector<TargetGroup>> groupsForFusedDegree(const Checkpoint& source, uint32_t ranks);

} // namespace shardscope
