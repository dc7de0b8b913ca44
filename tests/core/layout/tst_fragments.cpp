// SPDX-License-Identifier: Apache-2.0
#include "core/layout/fragments.h"
#include "tests/support/synthetic_checkpoint.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

using namespace shardscope;
using test::buildSyntheticCheckpoint;
using test::SyntheticOptions;

namespace {

SyntheticOptions smallModel(int stage, uint32_t ranks)
{
    SyntheticOptions options;
    options.stage = stage;
    options.ranks = ranks;
    options.groups = 2;
    options.shapes
        = {{"a.weight", {4, 3}}, {"a.bias", {4}}, {"b[0].weight", {5, 4}}, {"one", {1}}, {"empty", {0, 3}}};
    options.frozen = 2;
    options.hidden = 3;
    options.buffers = 1;
    options.aliases = 1;
    options.subGroupSize = 9;
    return options;
}

} // namespace

TEST_CASE("fragments cover a parameter once, in order, and agree with the buffers of the ranks")
{
    for (const int stage : {1, 2, 3}) {
        for (const uint32_t ranks : {1u, 2u, 3u, 5u, 16u}) {
            CAPTURE(stage);
            CAPTURE(ranks);
            const Checkpoint checkpoint = buildSyntheticCheckpoint(smallModel(stage, ranks));
            for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
                for (const std::string& state : statesOf(checkpoint, ParamId{i})) {
                    const auto fragments
                        = fragmentsOf(checkpoint, ParamId{i}, state, 0, checkpoint.params[i].elements);
                    REQUIRE(fragments);
                    uint64_t at = 0;
                    for (const Fragment& fragment : *fragments) {
                        CHECK(fragment.paramOffset == at);
                        CHECK(fragment.state == state);
                        CHECK(fragment.file != kNoFile);
                        CHECK(fragment.bytes == fragment.elements * itemSize(fragment.dtype));
                        at += fragment.elements;
                    }
                    CHECK(at == checkpoint.params[i].elements);
                }
            }
        }
    }
}

TEST_CASE("a rank's content equals its parameters' fragments")
{
    const Checkpoint checkpoint = buildSyntheticCheckpoint(smallModel(3, 4));
    for (uint32_t unit = 0; unit < checkpoint.units.size(); ++unit) {
        const auto& states = checkpoint.units[unit].states;
        for (uint32_t state = 0; state < states.size(); ++state) {
            for (uint32_t rank = 0; rank < 4; ++rank) {
                uint64_t payload = 0;
                forEachFragmentOnRank(checkpoint, UnitId{unit}, state, rank, [&](const Fragment& held) {
                    const auto same = fragmentsOf(checkpoint, held.param, held.state, held.paramOffset,
                        held.paramOffset + held.elements);
                    REQUIRE(same);
                    REQUIRE(same->size() == 1);
                    CHECK(same->front().rank == RankCoordinate{rank, 0, 0});
                    CHECK(same->front().byteOffset == held.byteOffset);
                    CHECK(same->front().file == held.file);
                    CHECK(same->front().record == held.record);
                    CHECK(same->front().flatOffset == held.flatOffset);
                    payload += held.elements;
                    return true;
                });
                CHECK(payload == checkpoint.units[unit].partition.payloadOn(rank));
            }
        }
    }
}

TEST_CASE("bytes of fragments: distinct elements are at distinct bytes of a file")
{
    const Checkpoint checkpoint = buildSyntheticCheckpoint(smallModel(2, 3));
    std::map<std::pair<FileId, uint64_t>, std::pair<ParamId, uint64_t>> byByte;
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        if (checkpoint.params[i].sharedWith != kNoParam)
            continue;
        for (const std::string& state : statesOf(checkpoint, ParamId{i})) {
            const auto fragments
                = fragmentsOf(checkpoint, ParamId{i}, state, 0, checkpoint.params[i].elements);
            REQUIRE(fragments);
            for (const Fragment& fragment : *fragments) {
                for (uint64_t element = 0; element < fragment.elements; ++element) {
                    const uint64_t byte = fragment.byteOffset + element * itemSize(fragment.dtype);
                    CHECK(byByte.emplace(std::pair(fragment.file, byte), std::pair(ParamId{i}, element))
                              .second);
                }
            }
        }
    }
    CHECK(byByte.size() == (12 + 4 + 20 + 1) * 4 + (9 + 12) + 3); // fp32, two moments, weight; frozen; buffer
}

TEST_CASE("states of trainable, frozen, buffer and alias")
{
    using Names = std::vector<std::string>;
    const Checkpoint two = buildSyntheticCheckpoint(smallModel(2, 2));
    const Checkpoint three = buildSyntheticCheckpoint(smallModel(3, 2));
    const auto states = [](const Checkpoint& checkpoint, std::string_view name) {
        return statesOf(checkpoint, checkpoint.findParam(name).value());
    };
    CHECK(states(two, "a.weight") == Names{"fp32", "exp_avg", "exp_avg_sq", "weight"});
    CHECK(states(three, "a.weight") == Names{"fp32", "exp_avg", "exp_avg_sq"});
    CHECK(states(two, "frozen.0.weight") == Names{"weight"});
    CHECK(states(three, "frozen.0.weight") == Names{"weight"});
    CHECK(states(three, "buffer.0") == Names{"weight"});
    CHECK(states(two, "alias.0.weight") == Names{"fp32", "exp_avg", "exp_avg_sq", "weight"});
    CHECK(two.stateNames() == Names{"fp32", "exp_avg", "exp_avg_sq", "weight"});
    CHECK(three.stateNames() == Names{"fp32", "exp_avg", "exp_avg_sq", "weight"});
    CHECK(statesOf(two, kNoParam).empty());

    const auto alias = fragmentsOf(three, *three.findParam("alias.0.weight"), "exp_avg", 0, 12);
    REQUIRE(alias);
    CHECK(alias->front().param == *three.findParam("a.weight"));
}

TEST_CASE("queries for missing parameters and states")
{
    const Checkpoint checkpoint = buildSyntheticCheckpoint(smallModel(3, 2));
    const ParamId weight = *checkpoint.findParam("a.weight");
    CHECK(fragmentsOf(checkpoint, kNoParam, "fp32", 0, 1).error().code == ErrorCode::NotFound);
    CHECK(fragmentsOf(checkpoint, weight, "momentum_buffer", 0, 1).error().code == ErrorCode::NotFound);
    CHECK(fragmentsOf(checkpoint, weight, "weight", 0, 1).error().code == ErrorCode::NotFound);
    CHECK(fragmentsOf(checkpoint, weight, "fp32", 0, 13).error().code == ErrorCode::Usage);
    CHECK(fragmentsOf(checkpoint, weight, "fp32", 5, 4).error().code == ErrorCode::Usage);
    CHECK(fragmentsOf(checkpoint, weight, "fp32", 12, 12)->empty());
}

TEST_CASE("padding, stored and implied")
{
    SyntheticOptions options;
    options.stage = 2;
    options.ranks = 4;
    options.shapes = {{"a", {4}}, {"b", {1}}};
    Checkpoint checkpoint = buildSyntheticCheckpoint(options);
    FlatUnit& unit = checkpoint.units[0];
    const auto& fp32 = unit.states[0];
    const auto& moment = unit.states[1];
    CHECK(paddingOf(unit, fp32, 0).kind == PaddingKind::None);
    CHECK(paddingOf(unit, fp32, 2).kind == PaddingKind::Implied);
    CHECK(paddingOf(unit, fp32, 2).elements == 1);
    CHECK(paddingOf(unit, fp32, 3).elements == 2);
    CHECK(paddingOf(unit, moment, 3).kind == PaddingKind::Stored);
    CHECK(paddingOf(unit, moment, 3).elements == 2);
    // DeepSpeed 0.7.0 to 0.16.3 cut only the last rank, and that one to a length of 1
    unit.states[0].perRank[2].elements = 2;
    unit.states[0].perRank[3].elements = 1;
    CHECK(paddingOf(unit, fp32, 2).kind == PaddingKind::Stored);
    CHECK(paddingOf(unit, fp32, 3).kind == PaddingKind::Stored);
    // a missing shard says what its state would do
    unit.states[0].perRank[3] = {};
    unit.states[1].perRank[3] = {};
    CHECK(paddingOf(unit, fp32, 3).kind == PaddingKind::Implied);
    CHECK(paddingOf(unit, moment, 3).kind == PaddingKind::Stored);
    CHECK(paddingOf(unit, moment, 4).kind == PaddingKind::None);
}

TEST_CASE("a shard that is missing or too short leaves fragments without a file")
{
    SyntheticOptions options = smallModel(3, 3);
    options.missingRanks = {1};
    Checkpoint checkpoint = buildSyntheticCheckpoint(options);
    const ParamId weight = *checkpoint.findParam("b[0].weight"); // 20 elements, 7 per rank
    auto fragments = fragmentsOf(checkpoint, weight, "fp32", 0, 20);
    REQUIRE(fragments);
    REQUIRE(fragments->size() == 3);
    CHECK((*fragments)[0].file != kNoFile);
    CHECK((*fragments)[1].file == kNoFile);
    CHECK((*fragments)[1].paramOffset == 7);
    CHECK((*fragments)[1].elements == 7);
    CHECK((*fragments)[2].file != kNoFile);

    const Parameter& param = checkpoint.params[index(weight)];
    FlatUnit& unit = checkpoint.units[index(param.unit)];
    unit.states[0].perRank[0].elements = unit.partition.paramStart(param.indexInUnit) + 4;
    fragments = fragmentsOf(checkpoint, weight, "fp32", 0, 7);
    REQUIRE(fragments);
    REQUIRE(fragments->size() == 2);
    CHECK((*fragments)[0].elements == 4);
    CHECK((*fragments)[0].bytes == 16);
    CHECK((*fragments)[1].file == kNoFile);
    CHECK((*fragments)[1].paramOffset == 4);
    CHECK((*fragments)[1].elements == 3);
}
