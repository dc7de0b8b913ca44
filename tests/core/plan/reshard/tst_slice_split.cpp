// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are split into another number of tensor slices. The oracle is the other direction: slices
// of either number, merged run by run as the sample's own layers split them, give the same bytes.
#include "core/checkpoint/model/scalar_text.h"
#include "core/checkpoint/open/open.h"
#include "core/engine/verify/verify.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using test::bytesOf;
using test::openForPlan;
using test::planSample;

namespace {

constexpr uint64_t kWidth = 12; ///< of the samples' models
constexpr uint64_t kVocabulary = 24;

/// As the model of the sample has it (tests/interop/runs/megatron.py).
const std::string kMegatron = R"({"original_vocab_size": 24,
    "vocabulary_parameter_patterns": ["word_embeddings\\.weight$"],
    "parameter_to_average_patterns": ["layers\\.\\d+\\.scale"],
    "parameter_with_row_parallelism_patterns": ["layers\\.\\d+\\.dense\\.weight", "layers\\.\\d+\\.down\\.weight"],
    "tp_replicated_parameter_patterns": [".*layernorm\\.(weight|bias)$", "layers\\.\\d+\\.dense\\.bias", "head"],
    "parameter_with_2_sub_params_cat_dim_0": ["layers\\.[0-9]+\\.gate_and_up\\."],
    "parameter_with_sub_params": [
        {"patterns": ["layers\\.\\d+\\.query_key_value\\.weight"], "shape": [[12, 12, 12], 12], "partition_dim": 0},
        {"patterns": ["layers\\.\\d+\\.query_key_value\\.bias"], "shape": [3], "partition_dim": 0}]})";
/// What AutoTP does with the model of slices-w4.
const std::string kAutoTp = R"json({
    "parameter_with_row_parallelism_patterns": ["layers\\.\\d+\\.down_proj\\.weight"],
    "tp_replicated_parameter_patterns": ["embed", "head", "layers\\.\\d+\\.(norm|down_proj\\.bias)"]
})json";

/// How many runs of a slice alternate with those of the other slices; 0: all slices are equal.
size_t runsOf(const std::string& name)
{
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("query_key_value"))
        return 3;
    if (has("gate_and_up"))
        return 2;
    if (has("dense.weight") || has("down.weight") || has("down_proj.weight"))
        return kWidth;
    return has("side.") || has("up_proj") || has("word_embeddings") ? 1 : 0;
}

std::vector<uint8_t> mergedBytes(const Checkpoint& of, const std::string& name, const std::string& state)
{
    if (of.parallel.tp == 1)
        return bytesOf(of, name, state);
    std::vector<std::vector<uint8_t>> slices;
    for (uint32_t tp = 0; tp < of.parallel.tp; ++tp)
        slices.push_back(bytesOf(of, name + ":tp" + std::to_string(tp), state));
    const size_t runs = runsOf(name);
    if (runs == 0) {
        for (const auto& slice : slices)
            CHECK(slice == slices.front());
        return slices.front();
    }
    return test::interleaved(slices, runs);
}

std::vector<std::string> namesOf(const Checkpoint& of)
{
    std::vector<std::string> out;
    const Checkpoint& first = of.parts.empty() ? of : *of.parts.front();
    for (const Parameter& param : first.params)
        out.push_back(param.name);
    return out;
}

void checkSame(const Checkpoint& target, const Checkpoint& source, uint64_t rows = 0)
{
    REQUIRE(namesOf(target) == namesOf(source));
    for (const std::string& name : namesOf(source)) {
        for (const std::string state : {"fp32", "exp_avg", "exp_avg_sq", "weight"}) {
            if (state == "weight" && target.kind == CheckpointKind::Zero3)
                continue;
            CAPTURE(name);
            CAPTURE(state);
            std::vector<uint8_t> here = mergedBytes(target, name, state);
            std::vector<uint8_t> there = mergedBytes(source, name, state);
            if (name.find("word_embeddings") != std::string::npos) {
                const size_t item = state == "weight" ? 2 : 4;
                CHECK(here.size() == rows * kWidth * item);
                there.resize(kVocabulary * kWidth * item);
                there.resize(rows * kWidth * item); // padding is zero
            }
            CHECK(here == there);
        }
    }
}

Error refusalOf(const CheckpointPtr& source, const ReshardOptions& options)
{
    JobContext job;
    const auto plan = planReshard(io::realFileSystem(), source, options, job);
    REQUIRE(!plan);
    return plan.error();
}

CheckpointPtr unrecorded()
{
    JobContext job;
    auto opened = openCheckpoint(
        io::realFileSystem(), planSample("megatron-w2"), {.tag = "global_step2", .roots = {}}, job);
    REQUIRE(opened);
    return opened->checkpoint;
}

const PickleGraph& modelOf(const Checkpoint& checkpoint)
{
    return checkpoint.file(checkpoint.templateModel).content->pickle();
}

std::string modelText(const Checkpoint& checkpoint, std::string_view key)
{
    const PickleGraph& graph = modelOf(checkpoint);
    const NodeId node = lookup(graph, graph.root(), key);
    return node == kNoNode ? "absent" : scalarText(graph, node);
}

} // namespace

TEST_CASE("slices are split again by the patterns that the checkpoint records")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("megatron-w2"));
    for (const int stage : {1, 2, 3}) {
        CAPTURE(stage);
        const auto four
            = test::rewrite(source, {.worldSize = 12, .stage = stage, .tp = 4, .paddedVocabulary = 28},
                folder / std::to_string(stage));
        CHECK(four->parallel.tp == 4);
        CHECK(four->parallel.dp == 3);
        checkSame(*four, *source, 28);
        test::checkSameState(four, source);
        test::checkSameState(source, four);
        for (const auto& part : four->parts) {
            CHECK(modelText(*part, "mp_world_size") == "4");
            CHECK(modelText(*part, "universal_checkpoint_info").find("28") != std::string::npos);
        }
        const auto back = test::rewrite(four, {.worldSize = 2, .stage = 1, .tp = 2, .paddedVocabulary = 26},
            folder / ("back" + std::to_string(stage)));
        checkSame(*back, *source, 26);
        CHECK(
            modelText(*back, "universal_checkpoint_info") == modelText(*source, "universal_checkpoint_info"));
    }
}

TEST_CASE("a slice may hold only padding of the vocabulary")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("megatron-w2"));
    for (const int stage : {1, 3}) {
        const auto four
            = test::rewrite(source, {.worldSize = 8, .stage = stage, .tp = 4, .paddedVocabulary = 40},
                folder / std::to_string(stage));
        checkSame(*four, *source, 40);
        test::checkSameState(four, source);
    }
}

TEST_CASE("a checkpoint without slices is split by given patterns")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = unrecorded();
    const auto one = test::rewrite(
        source, {.worldSize = 3, .tp = 1, .patterns = kMegatron, .paddedVocabulary = 25}, folder / "one");
    CHECK(one->parallel.tp == 1);
    checkSame(*one, *source, 25);
    const auto three = test::rewrite(
        one, {.worldSize = 6, .tp = 3, .patterns = kMegatron, .paddedVocabulary = 27}, folder / "three");
    CHECK(three->parallel.tp == 3);
    checkSame(*three, *source, 27);
    CHECK(modelText(*three, "universal_checkpoint_info") == "absent"); // the run does not record it either
    const auto rules = SliceRules::fromJson(kMegatron, "patterns");
    REQUIRE(rules);
    JobContext job;
    for (const CheckpointPtr& other : {source, one}) {
        const auto report = verifyCheckpoint(io::realFileSystem(), three, {other, &*rules}, 2, job);
        REQUIRE(report);
        CHECK(report->ok);
    }
    const auto report = verifyCheckpoint(io::realFileSystem(), three, {source}, 2, job);
    REQUIRE(!report);
    CHECK(report.error().hint.text.find("--patterns") != std::string::npos);
}

TEST_CASE("AutoTP's slices are split again, and its record is updated")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("slices-w4"));
    const auto four = test::rewrite(source, {.worldSize = 4, .tp = 4}, folder / "four");
    checkSame(*four, *source);
    test::checkSameState(four, source);
    CHECK(modelText(*four, "universal_checkpoint_info") != modelText(*source, "universal_checkpoint_info"));
    const auto back = test::rewrite(four, {.worldSize = 4, .tp = 2}, folder / "back");
    checkSame(*back, *source);
    CHECK(modelText(*back, "universal_checkpoint_info") == modelText(*source, "universal_checkpoint_info"));
    const auto one = test::rewrite(four, {.worldSize = 2, .tp = 1}, folder / "one");
    test::checkSameState(one, four);
    const auto six = test::rewrite(one, {.worldSize = 6, .tp = 6, .patterns = kAutoTp}, folder / "six");
    checkSame(*six, *source);
}

TEST_CASE("the momentum of SGD, which has the name of Muon's, is split like any other state")
{
    const auto renamed = [](const Checkpoint& of) {
        auto out = std::make_shared<Checkpoint>(of);
        for (FlatUnit& unit : out->units)
            unit.states.at(1).name = "momentum_buffer";
        return out;
    };
    const auto source = renamed(*openForPlan(planSample("megatron-w2")));
    for (auto& part : source->parts)
        part = renamed(*part);
    JobContext job;
    const auto plan
        = planReshard(io::realFileSystem(), source, {.worldSize = 4, .tp = 4, .paddedVocabulary = 28}, job);
    CHECK_MESSAGE(plan.has_value(), (plan ? "" : plan.error().message));
}

TEST_CASE("parameters that cannot be split are refused by name")
{
    const CheckpointPtr source = openForPlan(planSample("megatron-w2"));
    const Error padded = refusalOf(source, {.worldSize = 4, .tp = 4});
    CHECK(padded.code == ErrorCode::Refused);
    CHECK(padded.message.find("`word_embeddings.weight` has 2 rows of padding") != std::string::npos);
    CHECK(padded.hint.text.find("--padded-vocab-size") != std::string::npos);
    CHECK(refusalOf(source, {.worldSize = 4, .tp = 4, .paddedVocabulary = 20}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.worldSize = 4, .paddedVocabulary = 28}).code == ErrorCode::Usage);
    const Error rows = refusalOf(source, {.worldSize = 4, .tp = 4, .paddedVocabulary = 27});
    CHECK(rows.code == ErrorCode::Refused);
    CHECK(rows.message.find("27 rows") != std::string::npos);
    const Error five = refusalOf(source, {.worldSize = 5, .tp = 5, .paddedVocabulary = 25});
    CHECK(five.code == ErrorCode::Refused);
    CHECK(five.message.find("does not divide") != std::string::npos);
    const Error eight = refusalOf(source, {.worldSize = 8, .tp = 8, .paddedVocabulary = 32});
    CHECK(eight.code == ErrorCode::Refused); // 36 rows of three, 12 each
    CHECK(eight.message.find("query_key_value") != std::string::npos);
    CHECK(refusalOf(source, {.worldSize = 6, .tp = 4, .paddedVocabulary = 28}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.worldSize = 4, .stage = 0, .tp = 4}).code == ErrorCode::Unsupported);
    const Error columns = refusalOf(openForPlan(planSample("ds0192-zenflow-w2")), {.worldSize = 4, .tp = 2});
    CHECK(columns.code == ErrorCode::Unsupported);
    CHECK(columns.hint.text.find("--row-major") != std::string::npos);
    CHECK(refusalOf(openForPlan(planSample("pipeline-w4")), {.worldSize = 4, .tp = 2}).code
        == ErrorCode::Unsupported);
    CHECK(refusalOf(openForPlan(planSample("experts-w4")), {.worldSize = 4, .tp = 2}).code
        == ErrorCode::Unsupported);
    CHECK(refusalOf(openForPlan(planSample("muon-w3")), {.worldSize = 4, .tp = 2}).code
        == ErrorCode::Unsupported);
    const Error names = refusalOf(unrecorded(), {.worldSize = 4, .tp = 4});
    CHECK(names.code == ErrorCode::Unsupported);
    CHECK(names.message.find("`layers.0.dense.weight`") != std::string::npos);
    const Error frozen = refusalOf(openForPlan(planSample("zero2-w2")),
        {.worldSize = 2, .tp = 2, .patterns = R"({"tp_replicated_parameter_patterns": [".*norm"]})"});
    CHECK(frozen.code == ErrorCode::Unsupported);
    CHECK(frozen.message.find("frozen") != std::string::npos);
}
