// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace shardscope {

/// The flat order of a ZeRO-1/2 group under round_robin_gradients (DeepSpeed runtime/zero/stage_1_and_2.py,
/// _round_robin_reorder): parameters are distributed to ranks in turn, and those of one rank are together.
/// Entry k is the position in the optimizer's param group of the parameter at flat position k. The order does
/// not change if no rank gets two parameters, or one rank gets all.
std::vector<uint32_t> roundRobinOrder(uint32_t count, uint32_t ranks);

/// From the order at one number of ranks to that at another: entry k is the old flat position of the
/// parameter at the new position k.
std::vector<uint32_t> roundRobinMoves(uint32_t count, uint32_t fromRanks, uint32_t toRanks);

} // namespace shardscope
