// SPDX-License-Identifier: Apache-2.0
// Layers of a pipeline, distributed to other stages than the run had.
#include "core/plan/saved/saved_plan.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace shardscope;
using test::bytesOf;
using test::openForPlan;
using test::planFor;
using test::planSample;

namespace {

// Layers of the sample's model: tied, block, a function, two blocks, norm, tied. Two stages have 0 to 3, 4
// to 6.
ReshardOptions redistributed(uint32_t worldSize, std::vector<uint32_t> layers)
{
    return {.worldSize = worldSize, .stageLayers = std::move(layers), .tiedLayers = {"embed=0,6"}};
}

Error refusal(const ReshardOptions& options, const char* sample = "pipeline-w4")
{
    JobContext job;
    const auto plan = planReshard(io::realFileSystem(), openForPlan(planSample(sample)), options, job);
    REQUIRE(!plan.has_value());
    return plan.error();
}

std::vector<std::string> orderOf(const Checkpoint& stage, size_t group)
{
    std::vector<std::string> out;
    for (const UnitId id : stage.groups[group].units) {
        for (const ParamId param : stage.units[index(id)].params)
            out.push_back(stage.params[index(param)].name);
    }
    return out;
}

} // namespace

TEST_CASE("layers go to the given stages, and tied modules to all stages that use them")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("pipeline-w4"));
    const CheckpointPtr three = test::rewrite(source, redistributed(6, {0, 3, 5, 7}), folder / "three");
    REQUIRE(three->parts.size() == 3);
    CHECK(three->parallel.pp == 3);
    CHECK(three->parallel.dp == 2);
    const auto holders = [&](const char* name) {
        std::vector<size_t> out;
        for (size_t stage = 0; stage < 3; ++stage) {
            if (three->parts[stage]->findParam(name))
                out.push_back(stage);
        }
        return out;
    };
    CHECK(holders("1.up.weight") == std::vector<size_t>{0});
    CHECK(holders("3.up.weight") == std::vector<size_t>{1});
    CHECK(holders("4.seen") == std::vector<size_t>{1}); // a buffer
    CHECK(holders("5.weight") == std::vector<size_t>{2});
    CHECK(holders("tied_modules.embed.weight") == std::vector<size_t>{0, 2});
    CHECK(orderOf(*three->parts[2], 0) == std::vector<std::string>{"tied_modules.embed.weight"});
    CHECK(orderOf(*three->parts[1], 0)
        == std::vector<std::string>{"3.up.weight", "3.down.weight", "4.up.weight", "4.down.weight"});
    for (const char* state : {"fp32", "exp_avg", "exp_avg_sq"}) {
        CAPTURE(state);
        for (const char* name : {"1.up.weight", "3.down.bias", "4.norm.weight", "5.bias"})
            CHECK(bytesOf(*three, name, state) == bytesOf(*source, name, state));
        for (const char* stage : {":pp0", ":pp2"})
            CHECK(bytesOf(*three, "tied_modules.embed.weight" + std::string(stage), state)
                == bytesOf(*source, "tied_modules.embed.weight:pp0", state));
    }
    for (const char* layer : {"00", "01", "03", "04", "05"})
        CHECK(
            std::filesystem::exists(three->tagFolder / ("layer_" + std::string(layer) + "-model_states.pt")));
}

TEST_CASE("stages of any number give the same state again")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("pipeline-w4"));
    const CheckpointPtr one = test::rewrite(source, {.worldSize = 2, .pp = 1}, folder / "one");
    const CheckpointPtr three = test::rewrite(one, redistributed(3, {0, 3, 5, 7}), folder / "three");
    const CheckpointPtr back = test::rewrite(three, redistributed(4, {0, 4, 7}), folder / "back");
    test::checkSameState(back, source);
    const CheckpointPtr other = test::rewrite(source, redistributed(2, {0, 2, 7}), folder / "other");
    CHECK(other->parts[1]->findParam("3.up.weight"));
    test::checkSameState(test::rewrite(other, {.worldSize = 2, .pp = 1}, folder / "merged"), one);
}

TEST_CASE("the layers of each stage must be given, and impossible ones are refused")
{
    const Error layers = refusal({.worldSize = 3, .pp = 3});
    CHECK(layers.code == ErrorCode::Refused);
    CHECK(layers.hint.text.find("--pp-layers") != std::string::npos);
    const Error tied = refusal({.worldSize = 3, .pp = 3, .stageLayers = {0, 3, 5, 7}});
    CHECK(tied.code == ErrorCode::Refused);
    CHECK(tied.hint.text.find("--pp-tied embed=") != std::string::npos);
    const auto withTied = [](const char* text) {
        ReshardOptions options = redistributed(3, {0, 3, 5, 7});
        options.tiedLayers = {text};
        return refusal(options);
    };
    for (const char* text : {"embed=1,6", "embed=6", "embed=0,7", "embed=0,5", "embed", "embed=", "embed=0,",
             "=0,6", "embed=0,x", "embed=0,6 "}) {
        CAPTURE(text);
        CHECK(withTied(text).code == ErrorCode::Usage);
    }
    ReshardOptions more = redistributed(3, {0, 3, 5, 7});
    more.tiedLayers.emplace_back("head=6");
    CHECK(refusal(more).message.find("no tied module `head`") != std::string::npos);
    for (const auto& bounds :
        {std::vector<uint32_t>{0, 7}, {1, 4, 7}, {0, 4, 4, 7}, {0, 5, 4, 7}, {0, 3, 5}}) {
        CAPTURE(bounds.size());
        CHECK(refusal(redistributed(6, bounds)).code == ErrorCode::Usage);
    }
    CHECK(refusal(redistributed(4, {0, 3, 5, 7})).code == ErrorCode::Usage); // 4 ranks in 3 stages
    ReshardOptions other = redistributed(6, {0, 3, 5, 7});
    other.pp = 2;
    CHECK(refusal(other).code == ErrorCode::Usage);
    // The last stage would have the tied matrix alone, and nothing of the second param group.
    const Error empty = refusal(redistributed(2, {0, 6, 7}));
    CHECK(empty.code == ErrorCode::Refused);
    CHECK(empty.message.find("no parameter of param group 1") != std::string::npos);
    ReshardOptions needless{.worldSize = 2};
    needless.tiedLayers = {"embed=0,6"};
    CHECK(refusal(needless).code == ErrorCode::Usage);
    CHECK(refusal(redistributed(4, {0, 1, 2}), "zero2-w2").code == ErrorCode::Unsupported);
    CHECK(refusal(redistributed(4, {0, 1, 2}), "slices-w4").code == ErrorCode::Unsupported);
}

TEST_CASE("a saved plan keeps which layers its stages have")
{
    const CheckpointPtr source = openForPlan(planSample("pipeline-w4"));
    const auto plan = planFor(source, redistributed(3, {0, 3, 5, 7}));
    const auto parsed
        = parseSavedPlan(savedPlanText(savePlan(*plan, *source, {}, "/somewhere")), "plan.json");
    REQUIRE(parsed.has_value());
    CHECK(std::get<ReshardOptions>(parsed->options) == plan->reshard->options);
    CHECK(planFor(source, redistributed(3, {0, 2, 5, 7}))->id != plan->id);
}
