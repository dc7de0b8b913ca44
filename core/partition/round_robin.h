// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace shardscope {

/// The flat order of a ZeRO-1/2 group under round_robin_gradients (DeepSpeed runtime/zero/stage_1_and_2.py,
/// _round_robin_reorder): parameters are dealt to the ranks in turn, and each rank's hand stands together.
/// Entry k is the position that the parameter at flat position k has in the optimizer's param group. The
/// order before and after are the same where no rank gets two parameters, or one rank gets all.
std::vector<uint32_t> roundRobinOrder(uint32_t count, uint32_t ranks);

/// From the order at one number of ranks to that at another: entry k is the flat position that the parameter
/// at the new position k has in the old order.
std::vector<uint32_t> roundRobinMoves(uint32_t count, uint32_t fromRanks, uint32_t toRanks);

} // namespace shardscope
