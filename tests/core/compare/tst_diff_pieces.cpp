// SPDX-License-Identifier: Apache-2.0
// Large parameters are compared in pieces.
#include "core/compare/diff/diff_piece.h"

#include <doctest/doctest.h>

using namespace shardscope;

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
