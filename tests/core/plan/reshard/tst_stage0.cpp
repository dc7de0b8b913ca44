// SPDX-License-Identifier: Apache-2.0
// Plans from and to checkpoints without ZeRO, on checkpoints that stock DeepSpeed wrote.
#include "core/base/finding_codes.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/engine/verify/verify.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr std::array kStage0{"stage0-fp32", "stage0-bf16", "stage0-fp16"};

Error planError(const CheckpointPtr& source, const ReshardOptions& options)
{
    JobContext job;
    const auto plan = planReshard(io::realFileSystem(), source, options, job);
    REQUIRE(!plan.has_value());
    return plan.error();
}

const PickleGraph& modelGraph(const Checkpoint& checkpoint)
{
    return checkpoint.file(checkpoint.templateModel).content->pickle();
}

std::vector<std::string> keysOf(const PickleGraph& graph, NodeId mapping)
{
    std::vector<std::string> out;
    const auto items = mappingItems(graph, mapping);
    for (size_t i = 0; i + 1 < items.size(); i += 2)
        out.emplace_back(asString(graph, items[i]).value_or("?"));
    return out;
}

std::vector<std::string> optimizerKeys(const Checkpoint& checkpoint)
{
    const PickleGraph& graph = modelGraph(checkpoint);
    return keysOf(graph, lookup(graph, graph.root(), "optimizer"));
}

} // namespace

TEST_CASE("the kind of a sample without ZeRO says what it holds")
{
    const auto kindOf = [](const char* name) { return openForPlan(planSample(name))->kind; };
    CHECK(kindOf("stage0-fp32") == CheckpointKind::Torch);
    CHECK(kindOf("stage0-bf16") == CheckpointKind::Fp16Unfused);
    CHECK(kindOf("stage0-fp16") == CheckpointKind::Fp16);
    const CheckpointPtr fp16 = openForPlan(planSample("stage0-fp16"));
    CHECK(fp16->lossScale == 256.0);
    CHECK(fp16->units.front().kind == UnitKind::Group);
    CHECK(openForPlan(planSample("stage0-bf16"))->units.front().kind == UnitKind::Whole);
}

TEST_CASE("stage 0 converts to every stage, to a universal folder and back with the same training state")
{
    for (const char* name : kStage0) {
        const CheckpointPtr source = openForPlan(planSample(name));
        for (const int stage : {0, 1, 2, 3}) {
            for (const uint32_t ranks : {1u, 3u, 64u}) {
                CAPTURE(name);
                CAPTURE(stage);
                CAPTURE(ranks);
                const TemporaryFolder folder;
                const auto there
                    = rewrite(source, {.worldSize = ranks, .stage = stage}, folder.path() / "there");
                CHECK(there->zeroStage == stage);
                CHECK(there->parallel.dp == ranks);
                CHECK(there->precision == source->precision);
                checkSameState(there, source);
                const auto back = rewrite(there, {.worldSize = 2, .stage = 0}, folder.path() / "back");
                CHECK(back->kind == source->kind);
                CHECK(optimizerKeys(*back) == optimizerKeys(*source));
                checkSameState(back, source);
            }
        }
        const TemporaryFolder folder;
        const auto universal = rewrite(source, {.form = TargetForm::Universal}, folder.path() / "universal");
        checkSameState(universal, source);
        checkSameState(rewrite(universal, {.worldSize = 2, .stage = 0}, folder.path() / "back"), source);
        checkSameState(rewrite(universal, {.worldSize = 3, .stage = 3}, folder.path() / "zero3"), source);
    }
}

TEST_CASE("every ZeRO sample converts to stage 0")
{
    for (const char* name : {"zero1-w2", "bf16opt-w2", "zero3-w4", "ds0144-zero2-w2", "ds0144-zero3-w3",
             "roundrobin-w3", "aligned-w2", "zero2-w2"}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(name));
        const auto made = rewrite(source, {.worldSize = 5, .stage = 0}, folder.path());
        CHECK(made->kind == CheckpointKind::Fp16Unfused); // AdamW in 16 bits
        CHECK(made->parallel.dp == 5);
        checkSameState(made, source);
        const PickleGraph& graph = modelGraph(*made);
        for (const char* key : {"param_shapes", "frozen_param_shapes", "shared_params"})
            CHECK(graph.kind(lookup(graph, graph.root(), key)) == NodeKind::None);
    }
}

TEST_CASE("only the first rank's file of stage 3 records ties, as stock writes them")
{
    const TemporaryFolder folder;
    const CheckpointPtr result
        = rewrite(openForPlan(planSample("stage0-fp32")), {.worldSize = 2, .stage = 3}, folder / "three");
    JobContext job;
    for (uint32_t rank = 0; rank < 2; ++rank) {
        const auto file = TorchFile::open(
            io::realFileSystem(), result->file(result->modelFiles[rank]).path, ReadMode::Strict, job);
        REQUIRE(file.has_value());
        const PickleGraph& graph = (*file)->pickle();
        CHECK(keysOf(graph, lookup(graph, graph.root(), "shared_params")).size() == (rank == 0 ? 1 : 0));
    }
}

TEST_CASE("another number of ranks changes that number and nothing else")
{
    for (const char* name : kStage0) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(name));
        const auto made = rewrite(source, {.worldSize = 7}, folder.path());
        CHECK(made->kind == source->kind);
        CHECK(made->files.front().identity.bytes >= source->file(source->templateModel).identity.bytes - 8);
        CHECK(
            asInteger(modelGraph(*made), lookup(modelGraph(*made), modelGraph(*made).root(), "dp_world_size"))
            == 7);
        checkSameState(made, source);
        CHECK(planFor(source, {.worldSize = 7})->files.size() == 1);
        CHECK(planFor(source, {.worldSize = 7})->runFolderFiles.empty());
    }
}

TEST_CASE("the loss scaler is an object with ZeRO and keys without")
{
    const TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("stage0-fp16"));
    const auto zero = rewrite(source, {.worldSize = 2, .stage = 1}, folder.path());
    const PickleGraph& graph = zero->file(zero->templateOptim).content->pickle();
    const auto scaler = asObject(graph, lookup(graph, zero->optimWrapper, "loss_scaler"));
    REQUIRE(scaler);
    CHECK(scaler->className == "DynamicLossScaler");
    // As runtime/fp16/loss_scaler.py sets them.
    CHECK(keysOf(graph, scaler->attributes)
        == std::vector<std::string>{"cur_scale", "dynamic", "cur_iter", "last_overflow_iter", "scale_factor",
            "scale_window", "min_scale", "delayed_shift", "cur_hysteresis", "consecutive_hysteresis",
            "raise_error_at_min_scale", "dtype"});
    const auto number
        = [&](std::string_view key) { return asNumber(graph, lookup(graph, scaler->attributes, key)); };
    CHECK(number("cur_scale") == 256.0);
    CHECK(number("cur_iter") == 7.0);
    CHECK(number("last_overflow_iter") == 3.0);
    CHECK(number("scale_window") == 5.0);
    CHECK(number("min_scale") == 1.0);
    CHECK(number("delayed_shift") == 2.0);
    CHECK(isGlobal(graph, lookup(graph, scaler->attributes, "dtype"), "torch", "float16"));
}

TEST_CASE("the form follows precision and optimizer, and another one is refused by name")
{
    const auto kindFor = [](const char* name, std::optional<CheckpointKind> form) {
        return planFor(openForPlan(planSample(name)), {.worldSize = 2, .stage = 0, .stage0Form = form})
            ->reshard->kind;
    };
    CHECK(kindFor("zero1-w2", {}) == CheckpointKind::Fp16Unfused);
    CHECK(kindFor("zero1-w2", CheckpointKind::Fp16) == CheckpointKind::Fp16);
    CHECK(kindFor("stage0-fp16", CheckpointKind::Fp16Unfused) == CheckpointKind::Fp16Unfused);
    const CheckpointPtr fp32 = openForPlan(planSample("stage0-fp32"));
    const CheckpointPtr bf16 = openForPlan(planSample("zero3-w4"));
    CHECK(planError(fp32, {.worldSize = 2, .stage = 0, .stage0Form = CheckpointKind::Fp16}).code
        == ErrorCode::Usage);
    CHECK(planError(bf16, {.worldSize = 2, .stage = 0, .stage0Form = CheckpointKind::Torch}).code
        == ErrorCode::Usage);
    CHECK(planError(bf16, {.worldSize = 2, .stage = 1, .stage0Form = CheckpointKind::Fp16}).code
        == ErrorCode::Usage);
    CHECK(planError(fp32, {.form = TargetForm::Universal, .stage0Form = CheckpointKind::Torch}).code
        == ErrorCode::Usage);
}

TEST_CASE("factored states stay in a file without ZeRO, and are not converted to another form")
{
    const TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("stage0-adafactor"));
    REQUIRE(!source->modelError);
    CHECK(source->complete);
    const auto odd
        = std::count_if(source->findings.begin(), source->findings.end(), [](const Finding& finding) {
              return finding.code == code::kNotSupported
                  && finding.message.find("`row_var`") != std::string::npos
                  && finding.message.find("rows and columns") != std::string::npos;
          });
    CHECK(odd >= 1);
    const CheckpointPtr three = rewrite(source, {.worldSize = 3}, folder.path() / "three");
    JobContext job;
    CHECK(verifyCheckpoint(io::realFileSystem(), three, {}, 2, job)->ok);
    const auto compared = verifyCheckpoint(io::realFileSystem(), three, {source}, 2, job);
    REQUIRE(!compared); // nobody compared the factored states
    CHECK(compared.error().code == ErrorCode::Unsupported);
    CHECK(compared.error().message.find("`row_var`") != std::string::npos);
    for (const ReshardOptions& options : {ReshardOptions{.worldSize = 2, .stage = 1},
             ReshardOptions{.worldSize = 2, .stage = 3}, ReshardOptions{.form = TargetForm::Universal}}) {
        const Error error = planError(source, options);
        CHECK(error.code == ErrorCode::Refused);
        CHECK(error.message.find("_var` of group 0") != std::string::npos);
    }
}

TEST_CASE("flat and listed masters of one run hold the same")
{
    const TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("stage0-fp16"));
    const auto listed = rewrite(source,
        {.worldSize = 2, .stage = 0, .stage0Form = CheckpointKind::Fp16Unfused}, folder.path() / "listed");
    CHECK(listed->kind == CheckpointKind::Fp16Unfused);
    checkSameState(listed, source);
    const auto flat = rewrite(
        listed, {.worldSize = 2, .stage = 0, .stage0Form = CheckpointKind::Fp16}, folder.path() / "flat");
    CHECK(flat->kind == CheckpointKind::Fp16);
    checkSameState(flat, source);
}
