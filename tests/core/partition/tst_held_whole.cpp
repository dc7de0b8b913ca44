// SPDX-License-Identifier: Apache-2.0
#include "core/partition/held_whole.h"
#include "tests/core/partition/naive_partition.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

using namespace shardscope;

TEST_CASE("held whole: what every rank has a share of, counted slot by slot")
{
    std::mt19937 engine(7);
    const auto random = [&] { return static_cast<uint32_t>(engine()); };
    for (int round = 0; round < 400; ++round) {
        std::vector<uint64_t> params(1 + random() % 7);
        for (uint64_t& elements : params)
            elements = random() % 5 == 0 ? 0 : 1 + random() % 40;
        const uint32_t ranks = 1 + random() % 6;
        const uint32_t alignment = random() % 2 == 0 ? 1 : 4;
        const auto partition = FlatPartition::contiguous(params, ranks, 2, alignment);
        REQUIRE(partition.has_value());
        const oracle::Slots slots = oracle::contiguous(params, ranks, 2, alignment);
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            CAPTURE(rank);
            std::set<uint32_t> held;
            uint64_t own = 0;
            uint64_t before = 0;
            for (const oracle::Slot& slot : slots[rank]) {
                if (!slot)
                    continue;
                before = own++ == 0 ? slot->second : before;
                held.insert(slot->first);
            }
            uint64_t whole = 0;
            for (const uint32_t param : held)
                whole += params[param];
            const HeldWhole found = heldWholeOn(*partition, rank);
            CHECK(found.own == own);
            CHECK(found.elements() == whole);
            CHECK(found.before == before);
            if (!held.empty()) {
                CHECK(found.first == *held.begin());
                CHECK(found.last == *held.rbegin());
            }
        }
    }
}
