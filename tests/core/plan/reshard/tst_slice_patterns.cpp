// SPDX-License-Identifier: Apache-2.0
// Tensor slices that are merged by patterns, recorded in the checkpoint or given by the user.
#include "core/checkpoint/open/open.h"
#include "core/engine/verify/verify.h"
#include "core/layout/fragments.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace shardscope;
using test::bytesOf;
using test::interleaved;
using test::openForPlan;
using test::planSample;

namespace {

/// As the model of the sample has it (tests/interop/runs/megatron.py), with this many rows of the embedding.
std::string patternsText(uint64_t vocabulary)
{
    return R"({"original_vocab_size": )" + std::to_string(vocabulary) + R"(,
        "vocabulary_parameter_patterns": ["word_embeddings\\.weight$"],
        "parameter_to_average_patterns": ["layers\\.\\d+\\.scale"],
        "parameter_with_row_parallelism_patterns": ["layers\\.\\d+\\.dense\\.weight", "layers\\.\\d+\\.down\\.weight"],
        "tp_replicated_parameter_patterns": [".*layernorm\\.(weight|bias)$", "layers\\.\\d+\\.dense\\.bias", "head"],
        "parameter_with_2_sub_params_cat_dim_0": ["layers\\.[0-9]+\\.gate_and_up\\."],
        "parameter_with_sub_params": [
            {"patterns": ["layers\\.\\d+\\.query_key_value\\.weight"], "shape": [[12, 12, 12], 12], "partition_dim": 0},
            {"patterns": ["layers\\.\\d+\\.query_key_value\\.bias"], "shape": [3], "partition_dim": 0}]})";
}

CheckpointPtr openTag(const io::Path& folder, const char* tag)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), folder, {.tag = tag, .roots = {}}, job);
    REQUIRE(opened);
    return opened->checkpoint;
}

Error refusalOf(const CheckpointPtr& source, const ReshardOptions& options)
{
    JobContext job;
    const auto plan = planReshard(io::realFileSystem(), source, options, job);
    REQUIRE(!plan);
    return plan.error();
}

void checkMerged(const Checkpoint& whole, const Checkpoint& slices, uint64_t rows)
{
    for (const std::string state : {"fp32", "exp_avg", "exp_avg_sq"}) {
        CAPTURE(state);
        const auto both = [&](const std::string& name) {
            return std::vector{bytesOf(slices, name + ":tp0", state), bytesOf(slices, name + ":tp1", state)};
        };
        for (const std::string layer : {"layers.0.", "layers.1."}) {
            for (const std::string name : {"query_key_value.weight", "query_key_value.bias"})
                CHECK(bytesOf(whole, layer + name, state) == interleaved(both(layer + name), 3));
            CHECK(bytesOf(whole, layer + "gate_and_up.weight", state)
                == interleaved(both(layer + "gate_and_up.weight"), 2));
            for (const std::string name : {"side.weight", "side.bias"})
                CHECK(bytesOf(whole, layer + name, state) == interleaved(both(layer + name), 1));
            for (const std::string name : {"dense.weight", "down.weight"}) // 12 rows
                CHECK(bytesOf(whole, layer + name, state) == interleaved(both(layer + name), 12));
            for (const std::string name : {"scale", "input_layernorm.weight", "dense.bias"})
                CHECK(bytesOf(whole, layer + name, state) == both(layer + name).front());
        }
        std::vector<uint8_t> embedding = interleaved(both("word_embeddings.weight"), 1);
        embedding.resize(rows * 12 * 4);
        CHECK(bytesOf(whole, "word_embeddings.weight", state) == embedding);
    }
}

} // namespace

TEST_CASE("slices are merged by the patterns that the checkpoint records")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("megatron-w2"));
    REQUIRE(source->parallel.tp == 2);
    checkMerged(*test::rewrite(source, {.form = TargetForm::Universal}, folder / "universal"), *source, 24);
    const Error padded = refusalOf(source, {.worldSize = 2, .tp = 1});
    CHECK(padded.code == ErrorCode::Refused);
    CHECK(padded.message.find("2 rows of padding") != std::string::npos);
}

TEST_CASE("slices are merged by given patterns, in native and universal form")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openTag(planSample("megatron-w2"), "global_step2");
    for (const int stage : {1, 2, 3}) {
        CAPTURE(stage);
        const ReshardOptions options{.worldSize = 3, .stage = stage, .tp = 1, .patterns = patternsText(26)};
        checkMerged(*test::rewrite(source, options, folder / std::to_string(stage)), *source, 26);
    }
    const ReshardOptions universal{.form = TargetForm::Universal, .patterns = patternsText(24)};
    checkMerged(*test::rewrite(source, universal, folder / "universal"), *source, 24);
}

TEST_CASE("parameters without a pattern are reported by name")
{
    const CheckpointPtr source = openTag(planSample("megatron-w2"), "global_step2");
    const Error missing = refusalOf(source, {.form = TargetForm::Universal});
    CHECK(missing.code == ErrorCode::Unsupported);
    CHECK(missing.message.find("`layers.0.query_key_value.weight`") != std::string::npos);
    CHECK(missing.hint.text.find("--patterns") != std::string::npos);
    std::string text = patternsText(24);
    text.replace(text.find(", \"head\""), 8, "");
    const Error copies = refusalOf(source, {.form = TargetForm::Universal, .patterns = text});
    CHECK(copies.code == ErrorCode::Refused);
    CHECK(copies.message.find("`head.weight`") != std::string::npos);
    CHECK(copies.message.find("`layers.0.side.weight`") == std::string::npos);
    text.replace(text.find("dense\\\\.bias"), 12, "no_such_name");
    const Error unused = refusalOf(source, {.form = TargetForm::Universal, .patterns = text});
    CHECK(unused.code == ErrorCode::Usage);
    CHECK(unused.message.find("no_such_name") != std::string::npos);
    CHECK(refusalOf(source, {.form = TargetForm::Universal, .patterns = ""}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.worldSize = 4, .patterns = patternsText(24)}).code == ErrorCode::Usage);
}

TEST_CASE("slices that should be equal but differ are reported")
{
    const test::TemporaryFolder folder;
    std::filesystem::copy(
        planSample("megatron-w2"), folder / "run", std::filesystem::copy_options::recursive);
    JobContext job;
    const auto problems = [&] {
        const CheckpointPtr checkpoint = openForPlan(folder / "run");
        const auto report = verifyCheckpoint(io::realFileSystem(), checkpoint, {}, 1, job);
        REQUIRE(report);
        return report->problems;
    };
    CHECK(problems().empty());
    for (const char* name : {"layers.1.scale:tp1", "final_layernorm.bias:tp1"}) {
        CAPTURE(name);
        const CheckpointPtr checkpoint = openForPlan(folder / "run");
        const auto fragments = fragmentsOf(*checkpoint, *checkpoint->findParam(name), "exp_avg", 5, 6);
        REQUIRE(fragments);
        std::fstream file(
            checkpoint->file(fragments->front().file).path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(fragments->front().byteOffset));
        const int was = file.get();
        file.seekp(static_cast<std::streamoff>(fragments->front().byteOffset));
        file.put(static_cast<char>(was ^ 1));
        file.close();
        const auto found = problems();
        CHECK(std::any_of(found.begin(), found.end(), [&](const Finding& finding) {
            return finding.where.text().starts_with(name) && finding.where.text().ends_with("#exp_avg")
                && finding.evidence.front().find("at element 5") != std::string::npos;
        }));
        const Error refused = refusalOf(openForPlan(folder / "run"), {.form = TargetForm::Universal});
        CHECK(refused.code == ErrorCode::Refused);
        CHECK(refused.message.find("are equal, but slice") != std::string::npos);
    }
}
