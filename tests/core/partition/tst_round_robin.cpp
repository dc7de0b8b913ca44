// SPDX-License-Identifier: Apache-2.0
#include "core/partition/round_robin.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>

using namespace shardscope;
using Order = std::vector<uint32_t>;

namespace {

/// What _round_robin_reorder does, step by step: every rank has a list, and the lists are concatenated.
Order naiveOrder(uint32_t count, uint32_t ranks)
{
    std::vector<Order> piles(ranks);
    for (uint32_t i = 0; i < count; ++i)
        piles[i % ranks].push_back(i);
    Order row;
    for (const Order& pile : piles)
        row.insert(row.end(), pile.begin(), pile.end());
    return row;
}

} // namespace

TEST_CASE("round robin: orders that DeepSpeed wrote")
{
    CHECK(roundRobinOrder(5, 2) == Order{0, 2, 4, 1, 3});
    CHECK(roundRobinOrder(5, 3) == Order{0, 3, 1, 4, 2});
    CHECK(roundRobinOrder(5, 4) == Order{0, 4, 1, 2, 3});
    CHECK(roundRobinOrder(7, 3) == Order{0, 3, 6, 1, 4, 2, 5});
    CHECK(roundRobinOrder(6, 2) == Order{0, 2, 4, 1, 3, 5});
    CHECK(roundRobinOrder(0, 3).empty());
}

TEST_CASE("round robin: one rank, or no more parameters than ranks, changes nothing")
{
    for (const auto& [count, ranks] :
        std::vector<std::pair<uint32_t, uint32_t>>{{9, 1}, {4, 4}, {3, 64}, {1, 2}, {1, 0xFFFFFFFFu}}) {
        Order same(count);
        std::iota(same.begin(), same.end(), 0u);
        CHECK(roundRobinOrder(count, ranks) == same);
    }
}

TEST_CASE("round robin: from the order of one number of ranks to another's")
{
    // The names of a worked example at 2 ranks, on their way to 3.
    const std::vector<std::string> atTwo{"a.w", "b.w", "c.b", "a.b", "c.w"};
    std::vector<std::string> atThree;
    for (const uint32_t place : roundRobinMoves(5, 2, 3))
        atThree.push_back(atTwo[place]);
    CHECK(atThree == std::vector<std::string>{"a.w", "c.w", "a.b", "c.b", "b.w"});
    for (uint32_t count = 0; count < 20; ++count) {
        for (uint32_t ranks = 1; ranks < 8; ++ranks) {
            CHECK(roundRobinMoves(count, 1, ranks) == roundRobinOrder(count, ranks));
            CHECK(roundRobinMoves(count, ranks, ranks) == roundRobinOrder(count, 1));
        }
    }
}

TEST_CASE("oracle: round robin orders of all small groups")
{
    for (uint32_t count = 0; count < 60; ++count) {
        for (uint32_t ranks = 1; ranks < 70; ++ranks)
            REQUIRE(roundRobinOrder(count, ranks) == naiveOrder(count, ranks));
    }
}
