// SPDX-License-Identifier: Apache-2.0
#include "core/partition/flat_partition.h"

#include <doctest/doctest.h>

#include <limits>

using namespace shardscope;

namespace {

std::vector<FlatPiece> payloadPieces(const FlatPartition& partition, uint32_t rank)
{
    std::vector<FlatPiece> pieces;
    partition.forEachPiece(rank, 0, partition.partitionElements(), [&](const FlatPiece& piece) {
        if (!piece.isPadding())
            pieces.push_back(piece);
        return true;
    });
    return pieces;
}

std::vector<uint64_t> paddings(const FlatPartition& partition)
{
    std::vector<uint64_t> out;
    for (uint32_t rank = 0; rank < partition.ranks(); ++rank)
        out.push_back(partition.paddingOn(rank));
    return out;
}

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

} // namespace

TEST_CASE("ZeRO-1/2: five parameters, 42 elements, as DeepSpeed wrote them")
{
    const std::vector<uint64_t> params{12, 4, 20, 5, 1}; // a.weight a.bias b.weight c.weight c.bias

    const auto one = FlatPartition::contiguous(params, 1);
    REQUIRE(one);
    CHECK(one->alignment() == 2);
    CHECK(one->partitionElements() == 42);
    CHECK(paddings(*one) == std::vector<uint64_t>{0});

    const auto two = FlatPartition::contiguous(params, 2);
    REQUIRE(two);
    CHECK(two->alignment() == 4);
    CHECK(two->payloadElements() == 42);
    CHECK(two->partitionElements() == 22);
    CHECK(paddings(*two) == std::vector<uint64_t>{0, 2});
    CHECK(payloadPieces(*two, 0)
        == std::vector<FlatPiece>{{0, 0, 0, 0, 12}, {1, 0, 0, 12, 4}, {2, 0, 0, 16, 6}});
    CHECK(payloadPieces(*two, 1)
        == std::vector<FlatPiece>{{2, 1, 6, 0, 14}, {3, 1, 0, 14, 5}, {4, 1, 0, 19, 1}});

    const auto three = FlatPartition::contiguous(params, 3);
    REQUIRE(three);
    CHECK(three->partitionElements() == 14);
    CHECK(paddings(*three) == std::vector<uint64_t>{0, 0, 0});
    CHECK(payloadPieces(*three, 1) == std::vector<FlatPiece>{{1, 1, 2, 0, 2}, {2, 1, 0, 2, 12}});
    CHECK(payloadPieces(*three, 2)
        == std::vector<FlatPiece>{{2, 2, 12, 0, 8}, {3, 2, 0, 8, 5}, {4, 2, 0, 13, 1}});

    const auto four = FlatPartition::contiguous(params, 4);
    REQUIRE(four);
    CHECK(four->alignment() == 8);
    CHECK(four->partitionElements() == 12);
    CHECK(paddings(*four) == std::vector<uint64_t>{0, 0, 0, 6});
    CHECK(payloadPieces(*four, 3) == std::vector<FlatPiece>{{3, 3, 0, 0, 5}, {4, 3, 0, 5, 1}});
    CHECK(four->pieceAt(3, 7) == FlatPiece{FlatPiece::kPadding, 3, 0, 6, 6});
}

TEST_CASE("ZeRO-1/2: padding covers whole ranks of a small group")
{
    const auto partition = FlatPartition::contiguous({4, 1}, 4);
    REQUIRE(partition);
    CHECK(partition->partitionElements() == 2);
    CHECK(paddings(*partition) == std::vector<uint64_t>{0, 0, 1, 2});
    CHECK(payloadPieces(*partition, 3).empty());
    CHECK(partition->paramNear(3, 1) == 1);
}

TEST_CASE("ZeRO-1/2: parameters on 16-byte boundaries, as DeepSpeed 0.19.8 wrote them in bf16")
{
    const auto two = FlatPartition::contiguous({30, 5, 35, 7, 21, 3}, 2, 2, 8);
    REQUIRE(two);
    std::vector<uint64_t> after;
    for (uint32_t param = 0; param < 6; ++param)
        after.push_back(two->paddingAfter(param));
    CHECK(after == std::vector<uint64_t>{2, 3, 5, 1, 3, 0});
    CHECK(two->partitionElements() == 58);
    CHECK(two->leanElementsOn(0) == 58);
    CHECK(two->leanElementsOn(1) == 57);
    CHECK(payloadPieces(*two, 0)
        == std::vector<FlatPiece>{{0, 0, 0, 0, 30}, {1, 0, 0, 32, 5}, {2, 0, 0, 40, 18}});
    CHECK(payloadPieces(*two, 1)
        == std::vector<FlatPiece>{{2, 1, 18, 0, 17}, {3, 1, 0, 22, 7}, {4, 1, 0, 30, 21}, {5, 1, 0, 54, 3}});
    CHECK(two->pieceAt(1, 21) == FlatPiece{FlatPiece::kPadding, 1, 0, 17, 5});
    CHECK(two->paramNear(1, 21) == 2);
    CHECK(paddings(*two) == std::vector<uint64_t>{5, 10});
}

TEST_CASE("ZeRO-3: the sub-groups of the three-rank bf16 run")
{
    // one emb.weight mid.weight out.weight | emb.bias mid.bias out.bias
    const auto weights = FlatPartition::sliced({1, 15, 12, 10}, 3);
    REQUIRE(weights);
    CHECK(weights->partitionElements() == 14);
    CHECK(weights->alignment() == 1);
    const std::vector<uint64_t> slices{1, 5, 4, 4};
    const std::vector<uint64_t> starts{0, 1, 6, 10};
    for (uint32_t param = 0; param < 4; ++param) {
        CHECK(weights->sliceElements(param) == slices[param]);
        CHECK(weights->paramStart(param) == starts[param]);
    }
    CHECK(paddings(*weights) == std::vector<uint64_t>{0, 1, 3});
    CHECK(payloadPieces(*weights, 2)
        == std::vector<FlatPiece>{{1, 2, 10, 1, 5}, {2, 2, 8, 6, 4}, {3, 2, 8, 10, 2}});

    const auto biases = FlatPartition::sliced({3, 4, 2}, 3);
    REQUIRE(biases);
    CHECK(biases->partitionElements() == 4);
    CHECK(biases->payloadOn(2) == 1); // one real value, three of padding
    CHECK(payloadPieces(*biases, 2) == std::vector<FlatPiece>{{0, 2, 2, 0, 1}});

    const auto frozen = FlatPartition::sliced({20}, 3);
    REQUIRE(frozen);
    CHECK(frozen->partitionElements() == 7);
    CHECK(paddings(*frozen) == std::vector<uint64_t>{0, 0, 1});
}

TEST_CASE("ZeRO-3: ranks without payload")
{
    const auto five = FlatPartition::sliced({5}, 4);
    REQUIRE(five);
    CHECK(paddings(*five) == std::vector<uint64_t>{0, 0, 1, 2});
    const auto one = FlatPartition::sliced({1}, 8);
    REQUIRE(one);
    CHECK(paddings(*one) == std::vector<uint64_t>{0, 1, 1, 1, 1, 1, 1, 1});
    const auto none = FlatPartition::sliced({0}, 4);
    REQUIRE(none);
    CHECK(none->partitionElements() == 0);
    CHECK_FALSE(none->pieceAt(0, 0));
    CHECK(none->paramNear(0, 0) == FlatPiece::kPadding);
}

TEST_CASE("ZeRO-3: how sub-groups follow the world size")
{
    const std::vector<uint64_t> weights{1, 15, 12, 10};
    const std::vector<uint64_t> biases{3, 4, 2};
    using Ranges = std::vector<SubGroupRange>;
    CHECK(splitIntoSubGroups(weights, 3, 12) == Ranges{{0, 4}}); // 1 + 5 + 4 closes only with the last
    CHECK(splitIntoSubGroups(biases, 3, 12) == Ranges{{0, 3}});
    CHECK(splitIntoSubGroups(weights, 2, 12) == Ranges{{0, 3}, {3, 4}});
    CHECK(splitIntoSubGroups(biases, 2, 12) == Ranges{{0, 3}});
    CHECK(splitIntoSubGroups(weights, 5, 12) == Ranges{{0, 4}});
    CHECK(splitIntoSubGroups({}, 5, 12).empty());
    CHECK(splitIntoSubGroups(std::vector<uint64_t>{kHuge, kHuge, 1}, 1, 1'000'000'000)
        == Ranges{{0, 1}, {1, 2}, {2, 3}});
}

TEST_CASE("sizes that do not fit are refused")
{
    for (const auto make : {+[](std::vector<uint64_t> params, uint32_t ranks) {
                                return FlatPartition::contiguous(std::move(params), ranks);
                            },
             +[](std::vector<uint64_t> params, uint32_t ranks) {
                 return FlatPartition::sliced(std::move(params), ranks);
             }}) {
        CHECK(make({kHuge}, 1).error().code == ErrorCode::LimitExceeded);
        CHECK(make({kHuge, 2}, 4).error().code == ErrorCode::LimitExceeded);
        CHECK(make({kHuge / 2, 1}, 2).error().code == ErrorCode::LimitExceeded);
        CHECK(make({1}, 0).error().code == ErrorCode::Usage);
        CHECK(make({kHuge / 4}, 0xFFFFFFFFu)); // 2^62 − 1 elements still fit
    }
    // payload fits 63 bits, payload with padding does not
    CHECK(FlatPartition::contiguous({kHuge / 2}, 1024).error().code == ErrorCode::LimitExceeded);
    CHECK(FlatPartition::sliced({kHuge / 2}, 1024).error().code == ErrorCode::LimitExceeded);
    CHECK(FlatPartition::contiguous({1}, 1, 0).error().code == ErrorCode::Usage);
    CHECK(FlatPartition::contiguous({1}, 1, 2, 0).error().code == ErrorCode::Usage);
    // payload fits, padding between the parameters does not
    CHECK(FlatPartition::contiguous({kHuge / 2 - 1, 1}, 1, 1, 8).error().code == ErrorCode::LimitExceeded);
}

TEST_CASE("visiting stops when asked to")
{
    const auto partition = FlatPartition::sliced({100, 3, 100}, 4);
    REQUIRE(partition);
    int visits = 0;
    partition->forEachPiece(
        3, 0, partition->partitionElements(), [&](const FlatPiece&) { return ++visits < 2; });
    CHECK(visits == 2);
    visits = 0;
    partition->forEachFragment(0, 0, 100, [&](const FlatPiece&) { return ++visits < 3; });
    CHECK(visits == 3);
}
