// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <vector>

namespace shardscope {

/// A unit's parameters in the order in which the optimizer has them: that of its flat buffers, which
/// round_robin_gradients deals to ranks in turn (core/partition/round_robin.h).
std::vector<ParamId> optimizerOrder(const Checkpoint& checkpoint, const FlatUnit& unit);
/// Those of all units of a param group.
std::vector<ParamId> optimizerOrder(const Checkpoint& checkpoint, const ParamGroup& group);

} // namespace shardscope
