// SPDX-License-Identifier: Apache-2.0
// Compares the rules with buffers listed slot by slot, for thousands of random groups.
#include "core/partition/flat_partition.h"
#include "tests/core/partition/naive_partition.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

using namespace shardscope;

namespace {

using Random = std::mt19937_64;

uint64_t pick(Random& random, uint64_t low, uint64_t high)
{
    return std::uniform_int_distribution<uint64_t>(low, high)(random);
}

std::vector<uint64_t> randomParams(Random& random)
{
    std::vector<uint64_t> params(pick(random, 0, 12));
    for (uint64_t& elements : params) {
        switch (pick(random, 0, 5)) {
        case 0:
            elements = 0;
            break;
        case 1:
            elements = 1;
            break;
        case 2:
            elements = pick(random, 2, 7);
            break;
        case 3:
            elements = uint64_t{1} << pick(random, 0, 8);
            break;
        default:
            elements = pick(random, 1, 300);
        }
    }
    return params;
}

struct Trial {
    std::vector<uint64_t> params;
    FlatPartition partition;
    oracle::Slots slots;
    std::vector<uint64_t> borders; ///< where slices begin: padding does not run across them
};

Trial randomTrial(Random& random)
{
    Trial trial;
    trial.params = randomParams(random);
    const auto ranks
        = static_cast<uint32_t>(pick(random, 0, 2) == 0 ? pick(random, 1, 64) : pick(random, 1, 9));
    if (pick(random, 0, 1) == 0) {
        const auto factor = static_cast<uint32_t>(pick(random, 1, 4));
        const auto aligned = static_cast<uint32_t>(pick(random, 0, 1) == 0 ? 1 : pick(random, 2, 8));
        auto made = FlatPartition::contiguous(trial.params, ranks, factor, aligned);
        REQUIRE(made);
        trial.partition = std::move(*made);
        trial.slots = oracle::contiguous(trial.params, ranks, factor, aligned);
        REQUIRE(trial.partition.parameterAlignment() == aligned);
        REQUIRE(trial.partition.alignment() == uint64_t{factor} * ranks);
    } else {
        auto made = FlatPartition::sliced(trial.params, ranks);
        REQUIRE(made);
        trial.partition = std::move(*made);
        trial.slots = oracle::sliced(trial.params, ranks);
        uint64_t at = 0;
        for (const uint64_t elements : trial.params)
            trial.borders.push_back(at += (elements + ranks - 1) / ranks);
    }
    return trial;
}

/// Runs `body` on many random trials; every failure names its seed.
template <class Body>
void forTrials(uint64_t firstSeed, int count, Body body)
{
    for (int i = 0; i < count; ++i) {
        const uint64_t seed = firstSeed + static_cast<uint64_t>(i);
        CAPTURE(seed);
        Random random(seed);
        const Trial trial = randomTrial(random);
        body(trial, random);
    }
}

} // namespace

TEST_CASE("oracle: lengths, payload and padding of every rank")
{
    forTrials(1'000, 3'000, [](const Trial& trial, Random&) {
        uint64_t total = 0;
        for (uint32_t rank = 0; rank < trial.slots.size(); ++rank) {
            const auto& buffer = trial.slots[rank];
            const auto payload = static_cast<uint64_t>(std::count_if(
                buffer.begin(), buffer.end(), [](const oracle::Slot& slot) { return slot.has_value(); }));
            REQUIRE(trial.partition.partitionElements() == buffer.size());
            REQUIRE(trial.partition.payloadOn(rank) == payload);
            REQUIRE(trial.partition.paddingOn(rank) == buffer.size() - payload);
            total += payload;
        }
        REQUIRE(trial.partition.payloadElements() == total);
    });
}

TEST_CASE("oracle: padding after every parameter, and what lean states keep")
{
    forTrials(50'000, 3'000, [](const Trial& trial, Random&) {
        if (trial.partition.rule() == PartitionRule::Sliced) {
            REQUIRE(trial.partition.leanElementsOn(0) == trial.slots[0].size());
            return;
        }
        uint64_t filled = 0;
        for (uint32_t param = 0; param < trial.params.size(); ++param) {
            REQUIRE(trial.partition.paramStart(param) == filled);
            filled += trial.params[param];
            const uint64_t alignment = trial.partition.parameterAlignment();
            const bool last = param + 1 == trial.params.size();
            const uint64_t padding = last ? 0 : (alignment - filled % alignment) % alignment;
            REQUIRE(trial.partition.paddingAfter(param) == padding);
            filled += padding;
        }
        uint64_t lean = 0; // only padding is after it
        for (uint32_t rank = 0; rank < trial.slots.size(); ++rank) {
            const uint64_t here = trial.partition.leanElementsOn(rank);
            REQUIRE((here == trial.slots[rank].size() || lean + here == filled));
            lean += here;
        }
        REQUIRE(lean == filled);
    });
}

TEST_CASE("oracle: the piece at every slot, and the slot of every element")
{
    forTrials(100'000, 1'500, [](const Trial& trial, Random&) {
        std::optional<uint32_t> before; // Contiguous: the buffers of all ranks are one vector
        for (uint32_t rank = 0; rank < trial.slots.size(); ++rank) {
            const auto& buffer = trial.slots[rank];
            for (uint64_t offset = 0; offset < buffer.size(); ++offset) {
                const auto piece = trial.partition.pieceAt(rank, offset);
                REQUIRE(piece);
                REQUIRE(*piece == oracle::pieceAround(trial.slots, rank, offset, trial.borders));
                if (!buffer[offset]) {
                    if (trial.partition.rule() == PartitionRule::Contiguous)
                        REQUIRE(
                            trial.partition.paramNear(rank, offset) == before.value_or(FlatPiece::kPadding));
                    continue;
                }
                const auto [param, element] = *buffer[offset];
                before = param;
                REQUIRE(trial.partition.positionOf(param, element) == FlatPartition::Position{rank, offset});
                REQUIRE(trial.partition.paramNear(rank, offset) == param);
            }
            REQUIRE_FALSE(trial.partition.pieceAt(rank, buffer.size()));
        }
        REQUIRE_FALSE(trial.partition.pieceAt(static_cast<uint32_t>(trial.slots.size()), 0));
    });
}

TEST_CASE("oracle: pieces in a window of a rank")
{
    forTrials(200'000, 3'000, [](const Trial& trial, Random& random) {
        const auto rank = static_cast<uint32_t>(pick(random, 0, trial.slots.size() - 1));
        const auto& buffer = trial.slots[rank];
        uint64_t begin = pick(random, 0, buffer.size());
        uint64_t end = pick(random, 0, buffer.size());
        if (begin > end)
            std::swap(begin, end);
        if (pick(random, 0, 3) == 0)
            end = buffer.size() + pick(random, 0, 5); // beyond the end is clipped
        uint64_t at = begin;
        trial.partition.forEachPiece(rank, begin, end, [&](const FlatPiece& piece) {
            FlatPiece expected = oracle::pieceAround(trial.slots, rank, at, trial.borders);
            const uint64_t pieceEnd = std::min(expected.flatOffset + expected.elements, end);
            if (!expected.isPadding())
                expected.paramOffset += at - expected.flatOffset;
            expected.flatOffset = at;
            expected.elements = pieceEnd - at;
            REQUIRE(piece == expected);
            at = pieceEnd;
            return true;
        });
        REQUIRE(at == std::max(begin, std::min<uint64_t>(end, buffer.size())));
    });
}

TEST_CASE("oracle: fragments of a range of a parameter")
{
    forTrials(300'000, 3'000, [](const Trial& trial, Random& random) {
        if (trial.params.empty())
            return;
        const auto param = static_cast<uint32_t>(pick(random, 0, trial.params.size() - 1));
        uint64_t begin = pick(random, 0, trial.params[param]);
        uint64_t end = pick(random, 0, trial.params[param]);
        if (begin > end)
            std::swap(begin, end);
        uint64_t at = begin;
        uint32_t lastRank = FlatPiece::kPadding;
        trial.partition.forEachFragment(param, begin, end, [&](const FlatPiece& piece) {
            REQUIRE(piece.param == param);
            REQUIRE(piece.paramOffset == at);
            REQUIRE(piece.elements > 0);
            REQUIRE(piece.rank != lastRank); // longest runs: one per rank
            lastRank = piece.rank;
            for (uint64_t i = 0; i < piece.elements; ++i)
                REQUIRE(
                    trial.slots[piece.rank][piece.flatOffset + i] == oracle::Slot(std::pair(param, at + i)));
            at += piece.elements;
            return true;
        });
        REQUIRE(at == end);
    });
}

TEST_CASE("oracle: payload and parameters in a block of ranks and offsets")
{
    forTrials(400'000, 3'000, [](const Trial& trial, Random& random) {
        const auto ranks = static_cast<uint32_t>(trial.slots.size());
        const uint64_t length = trial.slots[0].size();
        auto rankBegin = static_cast<uint32_t>(pick(random, 0, ranks));
        auto rankEnd = static_cast<uint32_t>(pick(random, 0, ranks));
        uint64_t begin = pick(random, 0, 1) == 0 ? 0 : pick(random, 0, length);
        uint64_t end = pick(random, 0, 1) == 0 ? length : pick(random, 0, length);
        if (rankBegin > rankEnd)
            std::swap(rankBegin, rankEnd);
        if (begin > end)
            std::swap(begin, end);
        uint64_t payload = 0;
        std::set<uint32_t> params;
        for (uint32_t rank = rankBegin; rank < rankEnd; ++rank) {
            for (uint64_t offset = begin; offset < end; ++offset) {
                if (const oracle::Slot& slot = trial.slots[rank][offset]) {
                    ++payload;
                    params.insert(slot->first);
                }
            }
        }
        REQUIRE(trial.partition.payloadIn(rankBegin, rankEnd, begin, end) == payload);
        REQUIRE(trial.partition.paramsIn(rankBegin, rankEnd, begin, end) == params.size());
    });
}

TEST_CASE("oracle: parameters in a stretch of all buffers back to back")
{
    forTrials(450'000, 3'000, [](const Trial& trial, Random& random) {
        const uint64_t length = trial.slots[0].size();
        uint64_t begin = pick(random, 0, length * trial.slots.size());
        uint64_t end = pick(random, 0, length * trial.slots.size());
        if (begin > end)
            std::swap(begin, end);
        std::set<uint32_t> params;
        for (uint64_t at = begin; at < end; ++at) {
            if (const oracle::Slot& slot = trial.slots[at / length][at % length])
                params.insert(slot->first);
        }
        REQUIRE(trial.partition.paramsInUnrolled(begin, end) == params.size());
    });
}

TEST_CASE("oracle: sub-groups")
{
    for (uint64_t seed = 500'000; seed < 505'000; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const auto params = randomParams(random);
        const auto ranks = static_cast<uint32_t>(pick(random, 1, 64));
        const uint64_t size = pick(random, 0, 1) == 0 ? pick(random, 0, 40) : pick(random, 0, 1'000);
        REQUIRE(splitIntoSubGroups(params, ranks, size) == oracle::subGroups(params, ranks, size));
    }
}
