// SPDX-License-Identifier: Apache-2.0
// Assigning tensors to the groups of an optimizer that records no names, compared with trying every way.
#include "core/checkpoint/units/group_search.h"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

using namespace shardscope;
using Outcome = GroupSplit::Outcome;

namespace {

/// Groups as lists of kinds; a candidate fits a position that has its kind.
struct Puzzle {
    std::vector<int> candidates;
    std::vector<std::vector<int>> groups;

    [[nodiscard]] GroupSearch search() const
    {
        GroupSearch out;
        out.weights.assign(candidates.size(), 1);
        for (const auto& group : groups)
            out.sizes.push_back(group.size());
        out.fits = [this](uint32_t candidate, uint32_t group, uint64_t position) {
            return groups[group][position] == candidates[candidate];
        };
        return out;
    }
};

/// How many ways there are, by trying all.
int waysOf(const Puzzle& puzzle, size_t candidate, std::vector<size_t> filled)
{
    if (candidate == puzzle.candidates.size()) {
        for (size_t g = 0; g < filled.size(); ++g) {
            if (filled[g] != puzzle.groups[g].size())
                return 0;
        }
        return 1;
    }
    int ways = waysOf(puzzle, candidate + 1, filled);
    for (size_t g = 0; g < filled.size(); ++g) {
        if (filled[g] < puzzle.groups[g].size()
            && puzzle.groups[g][filled[g]] == puzzle.candidates[candidate]) {
            std::vector<size_t> next = filled;
            ++next[g];
            ways += waysOf(puzzle, candidate + 1, next);
        }
    }
    return ways;
}

} // namespace

TEST_CASE("the search finds one way, several or none, the same as trying all of them")
{
    std::mt19937 random(11);
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    int seen[3] = {0, 0, 0};
    for (int round = 0; round < 4000; ++round) {
        Puzzle puzzle;
        puzzle.groups.resize(static_cast<size_t>(1 + pick(3)));
        const int kinds = 2 + pick(4);
        for (int i = 0; i < 1 + pick(7); ++i) {
            puzzle.candidates.push_back(pick(kinds));
            const int group = pick(static_cast<int>(puzzle.groups.size()) + 1);
            if (group < static_cast<int>(puzzle.groups.size()) && pick(9) > 0)
                puzzle.groups[static_cast<size_t>(group)].push_back(puzzle.candidates.back());
        }
        if (auto& first = puzzle.groups.front(); first.size() > 1 && pick(4) == 0)
            std::swap(first.front(), first.back());
        const int ways = waysOf(puzzle, 0, std::vector<size_t>(puzzle.groups.size()));
        const GroupSplit split = splitIntoGroups(puzzle.search());
        CHECK(split.outcome == (ways == 0 ? Outcome::None : ways == 1 ? Outcome::One : Outcome::Several));
        ++seen[static_cast<int>(split.outcome)];
        if (ways == 0)
            continue;
        std::vector<std::vector<int>> assigned(puzzle.groups.size());
        REQUIRE(split.groupOf.size() == puzzle.candidates.size());
        for (size_t i = 0; i < split.groupOf.size(); ++i) {
            if (split.groupOf[i] >= 0)
                assigned[static_cast<size_t>(split.groupOf[i])].push_back(puzzle.candidates[i]);
        }
        CHECK(assigned == puzzle.groups);
    }
    for (const int count : seen)
        CHECK(count > 50);
}

TEST_CASE("weights fill a flat group to its last element")
{
    GroupSearch search;
    search.weights = {5, 3, 2, 4};
    search.sizes = {9, 2};
    search.fits = [](uint32_t, uint32_t, uint64_t) { return true; };
    CHECK(splitIntoGroups(search).groupOf == std::vector<int32_t>{0, -1, 1, 0});
    search.sizes = {9, 2, 4};
    CHECK(splitIntoGroups(search).outcome == Outcome::None);
    search.sizes = {15};
    CHECK(splitIntoGroups(search).outcome == Outcome::None); // more than there is
}

TEST_CASE("a problem with too many possibilities is given up")
{
    GroupSearch search;
    search.weights.assign(20000, 1);
    search.sizes = {5000, 5000, 5000};
    search.fits = [](uint32_t, uint32_t, uint64_t) { return true; };
    CHECK(splitIntoGroups(search).outcome == Outcome::TooMany);
    search.weights.assign(3, std::numeric_limits<uint64_t>::max() / 2);
    search.sizes = {1};
    CHECK(splitIntoGroups(search).outcome == Outcome::None); // their sum overflows
}

TEST_CASE("many candidates of few groups are assigned in one pass")
{
    GroupSearch search;
    search.weights.assign(200000, 1);
    search.sizes = {100000, 100000};
    search.fits = [](uint32_t candidate, uint32_t group, uint64_t) { return candidate % 2 == group; };
    const GroupSplit split = splitIntoGroups(search);
    REQUIRE(split.outcome == Outcome::One);
    CHECK(split.groupOf[199999] == 1);
}
