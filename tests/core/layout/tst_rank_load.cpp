// SPDX-License-Identifier: Apache-2.0
#include "core/layout/rank_load.h"

#include "tests/support/damages.h"
#include "tests/support/places.h"
#include "tests/support/synthetic_checkpoint.h"

#include <doctest/doctest.h>

using namespace shardscope;

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace {

CheckpointPtr made(int stage, uint32_t ranks, std::vector<uint32_t> missing = {})
{
    return test::makeSyntheticCheckpoint({.stage = stage,
        .ranks = ranks,
        .shapes = {{"odd.weight", {7}}, {"even.weight", {16}}},
        .missingRanks = std::move(missing)});
}

} // namespace

TEST_CASE("the load of ranks counts padding once and bytes of all states")
{
    // Each rank has 2 elements of the first parameter and 4 of the second, in three states of 4 bytes.
    const RankLoad load = rankLoad(*made(3, 4));
    CHECK(load.elements == 23);
    CHECK(load.padding == 1);
    CHECK(load.mostPadding == 1);
    CHECK(load.leastBytes == 6 * 3 * 4);
    CHECK(load.mostBytes == load.leastBytes);
}

TEST_CASE("missing shards weigh nothing")
{
    const RankLoad load = rankLoad(*made(3, 4, {2}));
    CHECK(load.leastBytes == 0);
    CHECK(load.mostBytes == 6 * 3 * 4);
    CHECK(load.padding == 1);
}

TEST_CASE("padding at the end of a group is of its last ranks")
{
    // 23 elements in steps of 2 for each of 4 ranks: 6 on a rank, the last one has 5.
    const RankLoad load = rankLoad(*made(2, 4));
    CHECK(load.elements == 23);
    CHECK(load.padding == 1);
    CHECK(load.mostPadding == 1);
}

TEST_CASE("states that are not flat buffers weigh their elements")
{
    const CheckpointPtr elastic = test::opened(sourceFolder() + "/tests/data/samples/zero3-elastic-w3");
    const RankLoad load = rankLoad(*elastic);
    // Master and two moments, but of a few frozen parameters only 16-bit weights: more than two states.
    CHECK(load.mostBytes * 3 > load.elements * 2 * 4);
}
