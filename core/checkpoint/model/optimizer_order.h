// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <vector>

namespace shardscope {

/// A unit's parameters in the optimizer's order. This is the order of its flat buffers, unless
/// round_robin_gradients distributes them to ranks in turn (core/partition/round_robin.h).
std::vector<ParamId> optimizerOrder(const Checkpoint& checkpoint, const FlatUnit& unit);
/// The same for all units of a param group.
std::vector<ParamId> optimizerOrder(const Checkpoint& checkpoint, const ParamGroup& group);

} // namespace shardscope
