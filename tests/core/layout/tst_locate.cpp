// SPDX-License-Identifier: Apache-2.0
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "tests/support/synthetic_checkpoint.h"

#include <doctest/doctest.h>

#include <random>

using namespace shardscope;

namespace {

using Random = std::mt19937_64;

uint64_t pick(Random& random, uint64_t low, uint64_t high)
{
    return std::uniform_int_distribution<uint64_t>(low, high)(random);
}

test::SyntheticOptions randomModel(Random& random)
{
    test::SyntheticOptions options;
    options.stage = static_cast<int>(pick(random, 1, 3));
    options.ranks = static_cast<uint32_t>(pick(random, 1, 9));
    options.groups = static_cast<uint32_t>(pick(random, 1, 3));
    options.hidden = pick(random, 1, 5);
    options.frozen = static_cast<uint32_t>(pick(random, 0, 3));
    options.buffers = static_cast<uint32_t>(pick(random, 0, 2));
    options.aliases = static_cast<uint32_t>(pick(random, 0, 2));
    options.subGroupSize = pick(random, 1, 40);
    if (pick(random, 0, 2) == 0)
        options.missingRanks = {static_cast<uint32_t>(pick(random, 0, options.ranks - 1))};
    const char* const kOdd[]
        = {"a[0].w", "b #1", "c*%+@!", "d\xC3\xA9", "e/f", "g\n", "dp0.tp0.pp0/group0+1"};
    for (const char* name : kOdd)
        options.shapes.emplace_back(name, Shape{pick(random, 0, 6), pick(random, 1, 7)});
    return options;
}

/// Every part of the location leads back to the same location, through its text.
void checkAllForms(const Checkpoint& checkpoint, const Location& location)
{
    const auto again = [&](const Address& address) {
        const std::string text = formatAddress(address);
        CAPTURE(text);
        const auto parsed = parseAddress(text);
        REQUIRE(parsed);
        REQUIRE(*parsed == address);
        auto found = locate(checkpoint, *parsed);
        REQUIRE(found);
        return *found;
    };
    const auto same = [&](const Location& other) {
        REQUIRE(other.flat == location.flat);
        REQUIRE(other.file == location.file);
        REQUIRE(other.padding == location.padding);
        REQUIRE(other.paddingStored == location.paddingStored);
        REQUIRE(other.param == location.param);
    };
    if (location.param)
        same(again(*location.param));
    if (location.flat)
        same(again(*location.flat));
    if (location.file)
        same(again(*location.file));
}

} // namespace

TEST_CASE("every element of every state: parameter, rank and file lead to each other")
{
    for (uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const Checkpoint checkpoint = test::buildSyntheticCheckpoint(randomModel(random));
        for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
            const Parameter& param = checkpoint.params[i];
            for (const std::string& state : statesOf(checkpoint, ParamId{i})) {
                for (uint64_t element = 0; element < param.elements; ++element) {
                    const auto found = locate(
                        checkpoint, ParamAddress{param.name, state, std::pair(element, element + 1)});
                    REQUIRE(found);
                    REQUIRE(found->param == ParamAddress{param.name, state, std::pair(element, element + 1)});
                    REQUIRE_FALSE(found->padding);
                    // the place is the one that fragments name
                    const auto fragment = fragmentsOf(checkpoint, ParamId{i}, state, element, element + 1);
                    REQUIRE(fragment);
                    REQUIRE(found->file.has_value() == (fragment->front().file != kNoFile));
                    if (found->file) {
                        REQUIRE(found->file->path == checkpoint.file(fragment->front().file).name);
                        REQUIRE(found->fileByte == fragment->front().byteOffset);
                    }
                    if (param.sharedWith == kNoParam) // an alias comes back under its owner's name
                        checkAllForms(checkpoint, *found);
                }
            }
        }
    }
}

TEST_CASE("every slot of every rank's buffers, padding among them")
{
    for (uint64_t seed = 1'000; seed < 1'060; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const Checkpoint checkpoint = test::buildSyntheticCheckpoint(randomModel(random));
        for (const FlatUnit& unit : checkpoint.units) {
            if (unit.kind == UnitKind::Frozen)
                continue;
            const bool subgroup = unit.kind == UnitKind::SubGroup;
            const uint32_t number = subgroup ? *unit.subgroup : static_cast<uint32_t>(unit.group);
            for (const UnitState& state : unit.states) {
                for (uint32_t rank = 0; rank < unit.partition.ranks(); ++rank) {
                    uint64_t padding = 0;
                    for (uint64_t at = 0; at < unit.partition.partitionElements(); ++at) {
                        const FlatAddress address{
                            {rank, 0, 0}, subgroup, number, at, state.name == "fp32" ? "" : state.name};
                        const auto found = locate(checkpoint, address);
                        REQUIRE(found);
                        REQUIRE(found->flat == address);
                        REQUIRE(found->padding == !found->param.has_value());
                        padding += found->padding ? 1 : 0;
                        if (found->padding)
                            REQUIRE(found->paddingStored
                                == (state.perRank[rank].isPresent() && at < state.perRank[rank].elements));
                        checkAllForms(checkpoint, *found);
                    }
                    REQUIRE(padding == unit.partition.paddingOn(rank));
                }
            }
        }
    }
}

TEST_CASE("a byte inside an element, and bytes that no tensor owns")
{
    test::SyntheticOptions options;
    options.shapes = {{"w", {7}}};
    options.ranks = 2;
    const Checkpoint checkpoint = test::buildSyntheticCheckpoint(options);
    const auto first = locate(checkpoint, ParamAddress{"w", "exp_avg", std::nullopt});
    REQUIRE(first);
    REQUIRE(first->file);
    FileAddress inside = *first->file;
    inside.byte += 6;
    const auto second = locate(checkpoint, inside);
    REQUIRE(second);
    CHECK(second->param->range == std::pair<uint64_t, uint64_t>(1, 2));
    CHECK(second->file == inside);
    const auto header = locate(checkpoint, FileAddress{inside.path, "", 3});
    REQUIRE(header);
    CHECK_FALSE(header->param);
    CHECK_FALSE(header->flat);
    CHECK(header->fileByte == 3);
}

TEST_CASE("a tensor stored with other strides is found both ways")
{
    test::SyntheticOptions options;
    options.stage = 2;
    options.shapes = {{"w", {3, 4}}};
    Checkpoint checkpoint = test::buildSyntheticCheckpoint(options);
    checkpoint.whole[0].contiguous = false;
    checkpoint.whole[0].strides = {1, 3};
    const auto found = locate(
        checkpoint, ParamAddress{"w", "weight", std::pair<uint64_t, uint64_t>(1, 2)}); // row 0, column 1
    REQUIRE(found);
    REQUIRE(found->file);
    CHECK(found->fileByte == checkpoint.whole[0].run.byteOffset + 3 * itemSize(DType::BFloat16));
    checkAllForms(checkpoint, *found);
}

TEST_CASE("places that do not exist")
{
    test::SyntheticOptions options;
    options.shapes = {{"w", {7}}, {"empty", {0}}};
    options.ranks = 2;
    options.missingRanks = {1};
    const Checkpoint checkpoint = test::buildSyntheticCheckpoint(options);
    const std::string file = checkpoint.file(checkpoint.templateOptim).name;
    const std::string gone = checkpoint.files.back().name;
    const std::vector<Address> places{
        ParamAddress{"v", "fp32", std::nullopt},
        ParamAddress{"w", "weight", std::nullopt},
        ParamAddress{"w", "fp32", std::pair<uint64_t, uint64_t>(7, 8)},
        ParamAddress{"w", "fp32", std::pair<uint64_t, uint64_t>(3, 8)},
        ParamAddress{"empty", "fp32", std::nullopt},
        FlatAddress{{2, 0, 0}, true, 0, 0, ""},
        FlatAddress{{0, 1, 0}, true, 0, 0, ""},
        FlatAddress{{0, 0, 1}, true, 0, 0, ""},
        FlatAddress{{0, 0, 0}, true, 1, 0, ""},
        FlatAddress{{0, 0, 0}, false, 0, 0, ""},
        FlatAddress{{0, 0, 0}, true, 0, 4, ""},
        FlatAddress{{0, 0, 0}, true, 0, 0, "sum"},
        FlatAddress{{0, 0, 0}, true, 0, 0, "", 5},
        FileAddress{"nothing.pt", "", 0},
        FileAddress{file, "data/0", 0}, // a synthetic file has no records
        FileAddress{file, "", 1'000'000},
        FileAddress{gone, "", 0},
    };
    for (const Address& place : places) {
        const std::string text = formatAddress(place);
        CAPTURE(text);
        const auto found = locate(checkpoint, place);
        REQUIRE_FALSE(found);
        CHECK(found.error().code == ErrorCode::NotFound);
    }
}

TEST_CASE("a record of a file without kept content is not reported as missing")
{
    Checkpoint checkpoint = test::buildSyntheticCheckpoint({});
    CheckpointFile& file = checkpoint.files[index(checkpoint.modelFiles[1])];
    file.recordCount = 5'000;
    const auto found = locate(checkpoint, FileAddress{file.name, "data/0", 0});
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::Unsupported);
}
