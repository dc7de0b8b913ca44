// SPDX-License-Identifier: Apache-2.0
// Large parameters are compared in pieces.
#include "core/compare/diff/diff_piece.h"
#include "core/compare/diff/state_diff.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

TEST_CASE("the next step of a parameter is known only if that of each piece is")
{
    DiffPiece known;
    known.steps = StepComparison();
    const DiffPiece unknown; // it differs, and its moments were not compared
    for (const bool first : {true, false}) {
        CAPTURE(first);
        DiffPiece sum = first ? known : unknown;
        sum += first ? unknown : known;
        CHECK_FALSE(sum.steps);
        sum += known;
        CHECK_FALSE(sum.steps);
    }
    DiffPiece sum = known;
    sum += known;
    CHECK(sum.steps);
}

TEST_CASE("the difference of the next step is one of the whole parameter, whatever the pieces")
{
    const CheckpointPtr left = opened(sourceFolder() + "/tests/data/samples/zero2-w2");
    JobContext job;
    const auto updates = [&](uint64_t pieceElements, const Checkpoint& one, const Checkpoint& other) {
        DiffOptions options;
        options.pieceElements = pieceElements;
        const auto diff = diffStates(io::realFileSystem(), one, other, options, job);
        REQUIRE(diff);
        REQUIRE(diff->params.size() == 1);
        REQUIRE(diff->params[0].update);
        return *diff->params[0].update;
    };
    const Way moments{"optimizer_state_dict", "base_optimizer_state", "state", 0, "exp_avg"};
    const Way masters{"optimizer_state_dict", "single_partition_of_fp32_groups", 0};
    for (const Way& tensor : {moments, masters}) {
        const bool ofMasters = tensor == masters;
        CAPTURE(ofMasters);
        const Patchable changed("zero2-w2");
        changed.operate("bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", [&](Surgery& file) {
            file.editTensor(
                tensor, [](std::string& elements) { elements[3] = 0x3f; }); // the first one: 0.5 to 2
        });
        const CheckpointPtr right = opened(changed.run());
        const UpdateDifference whole = updates(uint64_t{1} << 20, *left, *right);
        CHECK((ofMasters ? whole.weightsApart : whole.withUnitGradient) > 0);
        for (const uint64_t elements : {1, 7, 64}) {
            CAPTURE(elements);
            for (const bool swap : {false, true}) {
                const UpdateDifference pieces
                    = updates(elements, swap ? *right : *left, swap ? *left : *right);
                CHECK(pieces.withoutGradient == doctest::Approx(whole.withoutGradient).epsilon(1e-12));
                CHECK(pieces.withUnitGradient == doctest::Approx(whole.withUnitGradient).epsilon(1e-12));
                CHECK(pieces.weightsApart == doctest::Approx(whole.weightsApart).epsilon(1e-12));
            }
        }
    }
}

TEST_CASE("what a side lacks in one piece it lacks in the parameter")
{
    DiffPiece sum;
    sum.states.resize(1);
    sum.missing = {{false, false}};
    DiffPiece further = sum;
    further.missing = {{false, true}};
    sum += further;
    CHECK(sum.missing == std::vector<std::array<bool, 2>>{{false, true}});
}
