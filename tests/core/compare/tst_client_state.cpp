// SPDX-License-Identifier: Apache-2.0
// What the training script saved with the state: compared by value.
#include "core/compare/diff/state_diff.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

TEST_CASE("a changed value of the client state is a difference, and an equal one is none")
{
    const Patchable changed("zero2-w2");
    const Patchable alike("zero2-w2");
    changed.operate("mp_rank_00_model_states.pt", [](Surgery& file) { file.set({"iteration"}, 7); });
    alike.operate("mp_rank_00_model_states.pt", [](Surgery& file) { file.set({"iteration"}, 6); });
    const CheckpointPtr left = opened(sourceFolder() + "/tests/data/samples/zero2-w2");
    JobContext job;
    const auto diff = diffStates(io::realFileSystem(), *left, *opened(changed.run()), {}, job);
    REQUIRE(diff);
    REQUIRE(diff->scalarDifferences.size() == 1);
    CHECK(diff->scalarDifferences[0].left.name == "iteration");
    CHECK(diff->scalarDifferences[0].left.value == "6");
    CHECK(diff->scalarDifferences[0].right.value == "7");
    const auto same = diffStates(io::realFileSystem(), *left, *opened(alike.run()), {}, job);
    REQUIRE(same);
    CHECK(same->matches());
}
