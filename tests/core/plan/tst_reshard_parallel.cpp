// SPDX-License-Identifier: Apache-2.0
// Tensor slices, pipeline stages and experts for another number of data-parallel ranks.
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using test::openForPlan;
using test::planFor;
using test::planSample;

TEST_CASE("there and back gives the bytes of rewriting in place, and the same state between")
{
    struct Move {
        const char* sample;
        uint32_t between;
    };
    for (const auto& [sample, between] : {Move{"experts-w4", 2}, Move{"experts-w4", 6}, Move{"pipeline-w4", 2},
             Move{"pipeline-w4", 10}, Move{"slices-w4", 2}, Move{"slices-w4", 6}}) {
        CAPTURE(sample);
        CAPTURE(between);
        const test::TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(sample));
        const CheckpointPtr there = test::rewrite(source, {.worldSize = between}, folder / "there");
        CHECK(there->parallel.ranks() == between);
        test::checkSameState(there, source);
        const auto back = planFor(there, {.worldSize = 4});
        const auto again = planFor(source, {.worldSize = 4});
        REQUIRE(back->files().size() == again->files().size());
        for (size_t i = 0; i < back->files().size(); ++i) {
            CAPTURE(back->files()[i].path);
            CHECK(back->files()[i].path == again->files()[i].path);
            CHECK(test::plainBytes(*back, i) == test::plainBytes(*again, i));
        }
    }
}

TEST_CASE("files of layers and experts go along, once")
{
    for (const char* sample : {"experts-w4", "pipeline-w4"}) {
        CAPTURE(sample);
        const CheckpointPtr source = openForPlan(planSample(sample));
        const auto plan = planFor(source, {.worldSize = 2});
        size_t expected = 0;
        for (const CheckpointFile& file : source->files)
            expected += file.role == FileRole::LayerStates || file.role == FileRole::ExpertStates ? 1 : 0;
        size_t found = 0;
        for (const PlannedFile& file : plan->files())
            found += file.path.starts_with("layer_") ? 1 : 0;
        CHECK(found == expected);
    }
}

TEST_CASE("what cannot be kept is refused with the numbers that can")
{
    JobContext job;
    const auto refusal = [&](const char* sample, const ReshardOptions& options) {
        const auto plan = planReshard(io::realFileSystem(), openForPlan(planSample(sample)), options, job);
        REQUIRE(!plan.has_value());
        return plan.error();
    };
    const Error experts = refusal("experts-w4", {.worldSize = 3});
    CHECK(experts.code == ErrorCode::Usage);
    CHECK(experts.hint == "choose 2 or 4");
    const Error stages = refusal("pipeline-w4", {.worldSize = 5});
    CHECK(stages.code == ErrorCode::Usage);
    CHECK(stages.hint == "choose 4 or 6");
    CHECK(refusal("slices-w4", {.worldSize = 1}).hint == "choose 2");
    for (const char* sample : {"experts-w4", "pipeline-w4", "slices-w4"})
        CHECK(refusal(sample, {.form = TargetForm::Universal}).code == ErrorCode::Unsupported);
    for (const char* sample : {"experts-w4", "pipeline-w4"})
        CHECK(refusal(sample, {.worldSize = 4, .stage = 3}).code == ErrorCode::Unsupported);
}

TEST_CASE("tensor slices change their stage, each by itself")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("slices-w4"));
    for (const int stage : {2, 3}) {
        CAPTURE(stage);
        const CheckpointPtr result
            = test::rewrite(source, {.worldSize = 6, .stage = stage}, folder / std::to_string(stage));
        CHECK(result->zeroStage == stage);
        CHECK(result->parts.size() == 2);
        test::checkSameState(result, source);
    }
}
