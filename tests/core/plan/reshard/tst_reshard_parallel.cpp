// SPDX-License-Identifier: Apache-2.0
// Tensor slices, pipeline stages and experts for another number of data-parallel ranks.
#include "core/engine/verify/verify.h"
#include "core/layout/fragments.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace shardscope;
using test::bytesOf;
using test::openForPlan;
using test::planFor;
using test::planSample;

namespace {

/// Concatenated by rows, or the columns of every row next to each other.
std::vector<uint8_t> concatenated(
    const std::vector<uint8_t>& first, const std::vector<uint8_t>& second, size_t rows)
{
    const size_t width = first.size() / rows;
    std::vector<uint8_t> out;
    for (size_t row = 0; row < rows; ++row) {
        for (const auto* slice : {&first, &second})
            out.insert(out.end(), slice->begin() + static_cast<std::ptrdiff_t>(row * width),
                slice->begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    }
    return out;
}

void checkMergedSlices(const Checkpoint& whole, const Checkpoint& slices)
{
    CHECK(whole.parts.empty());
    CHECK(whole.parallel.tp == 1);
    CHECK(whole.params[index(*whole.findParam("layers.0.up_proj.weight"))].shape == Shape{48, 12});
    CHECK(whole.params[index(*whole.findParam("layers.0.down_proj.weight"))].shape == Shape{12, 48});
    for (const char* state : {"fp32", "exp_avg", "exp_avg_sq"}) {
        CAPTURE(state);
        for (const std::string layer : {"layers.0.", "layers.1."}) {
            const auto slice = [&](const std::string& name, const char* tp) {
                return bytesOf(slices, layer + name + tp, state);
            };
            for (const std::string name : {"up_proj.weight", "up_proj.bias"})
                CHECK(bytesOf(whole, layer + name, state)
                    == concatenated(slice(name, ":tp0"), slice(name, ":tp1"), 1));
            CHECK(bytesOf(whole, layer + "down_proj.weight", state)
                == concatenated(slice("down_proj.weight", ":tp0"), slice("down_proj.weight", ":tp1"), 12));
            for (const std::string name : {"down_proj.bias", "norm.weight"}) {
                CHECK(slice(name, ":tp0") == slice(name, ":tp1"));
                CHECK(bytesOf(whole, layer + name, state) == slice(name, ":tp0"));
            }
        }
    }
}

} // namespace

TEST_CASE("there and back gives the bytes of rewriting in place, and the same state between")
{
    struct Move {
        const char* sample;
        uint32_t between;
    };
    for (const auto& [sample, between] : {Move{"experts-w4", 2}, Move{"experts-w4", 6}, Move{"autoep-w4", 2},
             Move{"autoep-w4", 8}, Move{"folded-w4", 8}, Move{"folded-w4", 12}, Move{"folded-zero3-w4", 2},
             Move{"folded-zero3-w4", 6}, Move{"pipeline-w4", 2}, Move{"pipeline-w4", 10},
             Move{"slices-w4", 2}, Move{"slices-w4", 6}}) {
        CAPTURE(sample);
        CAPTURE(between);
        const test::TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(sample));
        const CheckpointPtr there = test::rewrite(source, {.worldSize = between}, folder / "there");
        CHECK(there->parallel.ranks() == between);
        test::checkSameState(there, source);
        const auto back = planFor(there, {.worldSize = 4});
        const auto again = planFor(source, {.worldSize = 4});
        REQUIRE(back->files.size() == again->files.size());
        for (size_t i = 0; i < back->files.size(); ++i) {
            CAPTURE(back->files[i].path);
            CHECK(back->files[i].path == again->files[i].path);
            CHECK(test::plainBytes(*back, i) == test::plainBytes(*again, i));
        }
    }
}

TEST_CASE("files of layers and experts are copied once")
{
    for (const char* sample : {"experts-w4", "autoep-w4", "pipeline-w4"}) {
        CAPTURE(sample);
        const CheckpointPtr source = openForPlan(planSample(sample));
        const auto plan = planFor(source, {.worldSize = 2});
        size_t expected = 0;
        for (const CheckpointFile& file : source->files)
            expected += file.role == FileRole::LayerStates || file.role == FileRole::ExpertStates ? 1 : 0;
        size_t found = 0;
        for (const PlannedFile& file : plan->files)
            found += file.path.starts_with("layer_") ? 1 : 0;
        CHECK(found == expected);
    }
}

TEST_CASE("impossible degrees are refused, and the error names the possible ones")
{
    JobContext job;
    const auto refusal = [&](const char* sample, const ReshardOptions& options) {
        const auto plan = planReshard(io::realFileSystem(), openForPlan(planSample(sample)), options, job);
        REQUIRE(!plan.has_value());
        return plan.error();
    };
    const Error experts = refusal("experts-w4", {.worldSize = 3});
    CHECK(experts.code == ErrorCode::Usage);
    CHECK(experts.hint.text == "choose 2 or 4");
    const Error stages = refusal("pipeline-w4", {.worldSize = 5});
    CHECK(stages.code == ErrorCode::Usage);
    CHECK(stages.hint.text == "choose 4 or 6");
    CHECK(refusal("slices-w4", {.worldSize = 1}).hint.text == "choose 2");
    CHECK(refusal("experts-w4", {.form = TargetForm::Universal}).code == ErrorCode::Unsupported);
    CHECK(refusal("pipeline-w4", {.worldSize = 4, .pp = 4}).code == ErrorCode::Refused);
    CHECK(refusal("pipeline-w4", {.worldSize = 4, .tp = 2}).code == ErrorCode::Unsupported);
    CHECK(refusal("pipeline-w4", {.worldSize = 4, .stage = 0}).code == ErrorCode::Unsupported);
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

TEST_CASE("tensor slices are merged as the run recorded, into native and universal checkpoints")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("slices-w4"));
    for (const int stage : {1, 2, 3}) {
        CAPTURE(stage);
        checkMergedSlices(
            *test::rewrite(source, {.worldSize = 3, .stage = stage, .tp = 1}, folder / std::to_string(stage)),
            *source);
    }
    checkMergedSlices(*test::rewrite(source, {.form = TargetForm::Universal}, folder / "universal"), *source);
}

namespace {

void checkMergedStages(const Checkpoint& whole, const Checkpoint& stages)
{
    CHECK(whole.parts.empty());
    CHECK(whole.parallel.pp == 1);
    const auto tied = whole.findParam("tied_modules.embed.weight");
    REQUIRE(tied);
    CHECK(whole.params[index(*tied)].indexInUnit == 0);
    for (const char* state : {"fp32", "exp_avg", "exp_avg_sq"}) {
        CAPTURE(state);
        const auto first = bytesOf(stages, "tied_modules.embed.weight:pp0", state);
        CHECK(first == bytesOf(stages, "tied_modules.embed.weight:pp1", state));
        CHECK(bytesOf(whole, "tied_modules.embed.weight", state) == first);
    }
    size_t compared = 0;
    for (const Parameter& param : stages.params) {
        if (param.name.find(':') != std::string::npos || param.role != ParamRole::Trainable)
            continue;
        CAPTURE(param.name);
        for (const char* state : {"fp32", "exp_avg", "exp_avg_sq"})
            CHECK(bytesOf(whole, param.name, state) == bytesOf(stages, param.name, state));
        CHECK(bytesOf(whole, param.name, "weight") == bytesOf(stages, param.name, "weight"));
        ++compared;
    }
    CHECK(compared > 10);
}

} // namespace

TEST_CASE("pipeline stages are merged, tied modules first, into native and universal checkpoints and back")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("pipeline-w4"));
    const CheckpointPtr native = test::rewrite(source, {.worldSize = 3, .pp = 1}, folder / "native");
    checkMergedStages(*native, *source);
    const CheckpointPtr universal
        = test::rewrite(source, {.form = TargetForm::Universal}, folder / "universal");
    checkMergedStages(*universal, *source);
    const CheckpointPtr again = test::rewrite(universal, {.worldSize = 3}, folder / "again");
    checkMergedStages(*again, *source);
    test::checkSameState(again, native);
}

TEST_CASE("stages that hold different values of a tied parameter are not merged")
{
    const test::TemporaryFolder folder;
    std::filesystem::copy(
        planSample("pipeline-w4"), folder / "run", std::filesystem::copy_options::recursive);
    const CheckpointPtr before = openForPlan(folder / "run");
    const ParamId tied = *before->findParam("tied_modules.embed.weight:pp1");
    const auto fragments = fragmentsOf(*before, tied, "exp_avg", 7, 8);
    REQUIRE(fragments.has_value());
    std::fstream file(
        before->file(fragments->front().file).path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fragments->front().byteOffset));
    file.put('\x17');
    file.close();
    JobContext job;
    const auto plan
        = planReshard(io::realFileSystem(), openForPlan(folder / "run"), {.worldSize = 2, .pp = 1}, job);
    REQUIRE(!plan.has_value());
    CHECK(plan.error().code == ErrorCode::Refused);
    CHECK(plan.error().message.find("`exp_avg`, from element 7 on") != std::string::npos);
    const auto report = verifyCheckpoint(io::realFileSystem(), openForPlan(folder / "run"), {}, 1, job);
    REQUIRE(report.has_value());
    CHECK(std::any_of(report->problems.begin(), report->problems.end(), [](const Finding& problem) {
        return problem.message.starts_with("pipeline stages share this parameter");
    }));
}
