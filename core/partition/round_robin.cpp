// SPDX-License-Identifier: Apache-2.0
#include "core/partition/round_robin.h"

#include <algorithm>

namespace shardscope {

std::vector<uint32_t> roundRobinOrder(uint32_t count, uint32_t ranks)
{
    std::vector<uint32_t> order;
    order.reserve(count);
    for (uint32_t hand = 0; hand < std::min(ranks, count); ++hand) {
        for (uint64_t before = hand; before < count; before += ranks)
            order.push_back(static_cast<uint32_t>(before));
    }
    return order;
}

std::vector<uint32_t> roundRobinMoves(uint32_t count, uint32_t fromRanks, uint32_t toRanks)
{
    const std::vector<uint32_t> from = roundRobinOrder(count, fromRanks);
    std::vector<uint32_t> placeIn(count);
    for (uint32_t place = 0; place < count; ++place)
        placeIn[from[place]] = place;
    std::vector<uint32_t> moves = roundRobinOrder(count, toRanks);
    for (uint32_t& move : moves)
        move = placeIn[move];
    return moves;
}

} // namespace shardscope
