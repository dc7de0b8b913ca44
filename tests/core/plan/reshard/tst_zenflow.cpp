// SPDX-License-Identifier: Apache-2.0
// Plans from checkpoints of ZenFlow, which stores matrices column by column.
#include "core/engine/write/execute.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr const char* kSamplesOfIt[] = {"ds0192-zenflow-w2", "ds0192-zenflow-w3"};

void checkSameElements(const Checkpoint& result, const Checkpoint& source)
{
    for (const Parameter& param : source.params) {
        if (param.role != ParamRole::Trainable || param.sharedWith != kNoParam)
            continue;
        CAPTURE(param.name);
        for (const UnitState& state : source.unitOf(*source.findParam(param.name))->states)
            CHECK(bytesOf(result, param.name, state.name) == bytesOf(source, param.name, state.name));
    }
}

/// What `ds_config` of a file says about ZenFlow.
NodeKind recorded(const TorchFile& file)
{
    const PickleGraph& graph = file.pickle();
    const NodeId config = lookup(graph, graph.root(), "ds_config");
    const NodeId zero = config == kNoNode ? kNoNode : lookup(graph, config, "zero_optimization");
    const NodeId node = zero == kNoNode ? kNoNode : lookup(graph, zero, "zenflow");
    return node == kNoNode ? NodeKind::None : graph.kind(node);
}

/// The masters of a parameter as its ranks' files have them, without any knowledge of ZenFlow.
std::vector<uint8_t> storedMasters(const Checkpoint& checkpoint, ParamId id)
{
    const Parameter& param = checkpoint.params[index(id)];
    const FlatUnit& unit = checkpoint.units[index(param.unit)];
    std::vector<uint8_t> out(param.elements * 4);
    unit.partition.forEachFragment(param.indexInUnit, 0, param.elements, [&](const FlatPiece& piece) {
        const StoredRun& run = unit.states.front().perRank[piece.rank];
        const auto file = io::realFileSystem().openRead(checkpoint.file(run.file).path);
        REQUIRE(file.has_value());
        REQUIRE((*file)
                    ->readAt(run.byteOffset + piece.flatOffset * 4,
                        std::span(out).subspan(piece.paramOffset * 4, piece.elements * 4))
                    .has_value());
        return true;
    });
    return out;
}

} // namespace

TEST_CASE("ZenFlow: the values of a matrix are its rows', and the file has its columns")
{
    for (const char* name : kSamplesOfIt) {
        CAPTURE(name);
        const CheckpointPtr source = openForPlan(planSample(name));
        REQUIRE(source->zenflow);
        size_t matrices = 0;
        for (uint32_t i = 0; i < source->params.size(); ++i) {
            const auto order = source->transposedOrder(ParamId{i});
            if (!order)
                continue;
            ++matrices;
            CAPTURE(source->params[i].name);
            const auto values = bytesOf(*source, source->params[i].name, "fp32");
            const auto stored = storedMasters(*source, ParamId{i});
            for (uint64_t row = 0; row < order->rows; ++row) {
                for (uint64_t column = 0; column < order->columns; ++column) {
                    const auto at = static_cast<ptrdiff_t>(4 * (row * order->columns + column));
                    const auto in = static_cast<ptrdiff_t>(4 * (column * order->rows + row));
                    REQUIRE(std::equal(values.begin() + at, values.begin() + at + 4, stored.begin() + in));
                }
            }
        }
        CHECK(matrices > 3);
    }
}

TEST_CASE("ZenFlow: addresses lead from an element to its byte and back")
{
    const CheckpointPtr source = openForPlan(planSample("ds0192-zenflow-w3"));
    for (uint32_t i = 0; i < source->params.size(); ++i) {
        const Parameter& param = source->params[i];
        if (!source->transposedOrder(ParamId{i}))
            continue;
        const auto values = bytesOf(*source, param.name, "exp_avg");
        for (uint64_t element = 0; element < param.elements; element += 3) {
            CAPTURE(param.name);
            CAPTURE(element);
            const ParamAddress address{param.name, "exp_avg", std::pair{element, element + 1}};
            const auto place = locate(*source, address);
            REQUIRE(place.has_value());
            REQUIRE(place->flat);
            REQUIRE(place->file);
            CHECK(locate(*source, *place->flat)->param == address);
            CHECK(locate(*source, *place->file)->param == address);
            const auto file = io::realFileSystem().openRead(source->tagFolder / place->file->path);
            std::array<uint8_t, 4> bytes{};
            REQUIRE((*file)->readAt(place->fileByte, bytes).has_value());
            CHECK(
                std::equal(bytes.begin(), bytes.end(), values.begin() + static_cast<ptrdiff_t>(4 * element)));
        }
        for (const auto& [begin, end] : {std::pair{uint64_t{1}, uint64_t{2}},
                 std::pair{uint64_t{3}, param.elements - 1}, std::pair{uint64_t{0}, param.shape[1]}}) {
            std::vector<uint8_t> part((end - begin) * 4);
            REQUIRE(readElements(io::realFileSystem(), *source, {ParamId{i}, "exp_avg", begin, end}, part)
                        .has_value());
            CHECK(std::equal(part.begin(), part.end(), values.begin() + static_cast<ptrdiff_t>(4 * begin)));
        }
    }
}

TEST_CASE("ZenFlow: another number of ranks keeps its order, and stage 1 and 2 share it")
{
    for (const char* name : kSamplesOfIt) {
        const CheckpointPtr source = openForPlan(planSample(name));
        for (const int stage : {1, 2}) {
            for (const uint32_t ranks : {1u, 2u, 3u, 5u, 64u}) {
                CAPTURE(name);
                CAPTURE(stage);
                CAPTURE(ranks);
                const TemporaryFolder folder;
                const CheckpointPtr result
                    = rewrite(source, {.worldSize = ranks, .stage = stage}, folder.path());
                CHECK(result->zenflow);
                CHECK(recorded(*result->file(result->templateModel).content) == NodeKind::Dict);
                checkSameState(result, source);
                checkSameElements(*result, *source);
            }
        }
    }
}

TEST_CASE("ZenFlow: a run without it gets matrices row by row")
{
    const ReshardOptions targets[] = {
        {.worldSize = 3, .stage = 1, .rowMajor = true},
        {.worldSize = 2, .stage = 2, .rowMajor = true},
        {.worldSize = 5, .stage = 2, .rowMajor = true},
        {.worldSize = 4, .stage = 3, .subGroupSize = 150},
        {.form = TargetForm::Universal},
    };
    for (const char* name : kSamplesOfIt) {
        const CheckpointPtr source = openForPlan(planSample(name));
        for (const ReshardOptions& options : targets) {
            CAPTURE(name);
            CAPTURE(options.stage.value_or(-1));
            CAPTURE(options.worldSize);
            const TemporaryFolder folder;
            const CheckpointPtr result = rewrite(source, options, folder.path());
            CHECK_FALSE(result->zenflow);
            CHECK(recorded(*result->file(result->templateModel).content) == NodeKind::None);
            if (options.form == TargetForm::Native)
                CHECK(recorded(*result->file(result->templateOptim).content) == NodeKind::None);
            checkSameState(result, source);
            checkSameElements(*result, *source);
        }
    }
}

TEST_CASE("ZenFlow: the engine gathers columns as the naive writer does")
{
    const CheckpointPtr source = openForPlan(planSample("ds0192-zenflow-w3"));
    for (const ReshardOptions& options : {ReshardOptions{.worldSize = 2, .stage = 2, .rowMajor = true},
             ReshardOptions{.worldSize = 3, .stage = 3}, ReshardOptions{.worldSize = 2}}) {
        const auto plan = planFor(source, options);
        JobContext job;
        const TemporaryFolder folder;
        ExecuteOptions how;
        how.destination = folder / "out";
        how.sourceRunFolder = source->runFolder;
        const auto report = execute(io::realFileSystem(), *plan, how, job);
        REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
        CHECK(report->verified);
        for (size_t i = 0; i < plan->files.size(); ++i)
            CHECK(slurp(report->output / plan->files[i].path) == plainBytes(*plan, i));
    }
}

TEST_CASE("ZenFlow: --row-major is refused where the target has row order anyway")
{
    JobContext job;
    const auto code = [&](const char* name, const ReshardOptions& options) {
        const auto plan = planReshard(io::realFileSystem(), openForPlan(planSample(name)), options, job);
        return plan ? ErrorCode::Internal : plan.error().code;
    };
    CHECK(code("zero2-w2", {.worldSize = 2, .rowMajor = true}) == ErrorCode::Usage);
    CHECK(code("ds0192-zenflow-w2", {.worldSize = 2, .stage = 3, .rowMajor = true}) == ErrorCode::Usage);
    for (const char* name : {"ds0192-zenflow-w2", "zenflow-w2"})
        CHECK(code(name, {.worldSize = 1, .stage = 0}) == ErrorCode::Unsupported);
    const TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("ds0192-zenflow-w2"));
    const CheckpointPtr between = rewrite(source, {.worldSize = 2, .stage = 3}, folder.path() / "3");
    const CheckpointPtr result = rewrite(between, {.worldSize = 1, .stage = 0}, folder.path() / "0");
    checkSameElements(*result, *source);
}

TEST_CASE("ZenFlow: the plan says what the resumed run must have, and what it loses")
{
    const CheckpointPtr source = openForPlan(planSample("ds0192-zenflow-w2"));
    const auto saysOn = [&](const ReshardOptions& options, std::string_view text) {
        const auto plan = planFor(source, options);
        return std::any_of(
            plan->reshard->mustStayEqual.begin(), plan->reshard->mustStayEqual.end(), [&](const auto& entry) {
                return entry.first == "zero_optimization.zenflow" && entry.second.starts_with(text);
            });
    };
    CHECK(saysOn({.worldSize = 3}, "set"));
    CHECK(saysOn({.worldSize = 3, .rowMajor = true}, "not set, or in DeepSpeed 0.19.8"));
    CHECK(saysOn({.worldSize = 3, .stage = 3}, "not set"));
    const auto plan = planFor(source, {.worldSize = 3, .rowMajor = true});
    CHECK(std::any_of(plan->warnings.begin(), plan->warnings.end(), [](const Finding& finding) {
        return finding.message.find("selective optimizer") != std::string::npos;
    }));
    CHECK(plan->id != planFor(source, {.worldSize = 3})->id);
}

TEST_CASE("ZenFlow of 0.19.8 stores rows, which every target has, and other stages do not claim ZenFlow")
{
    const CheckpointPtr source = openForPlan(planSample("zenflow-w2"));
    CHECK_FALSE(source->zenflow);
    CHECK(std::any_of(source->evidence.begin(), source->evidence.end(), [](const std::string& text) {
        return text.starts_with("ZenFlow, with matrices stored row by row");
    }));
    for (const ReshardOptions& options :
        {ReshardOptions{.worldSize = 3}, ReshardOptions{.worldSize = 3, .stage = 1},
            ReshardOptions{.worldSize = 2, .stage = 3}, ReshardOptions{.form = TargetForm::Universal}}) {
        CAPTURE(options.stage.value_or(-1));
        const TemporaryFolder folder;
        const CheckpointPtr result = rewrite(source, options, folder.path());
        CHECK_FALSE(result->zenflow);
        const bool mayHaveIt = result->kind == CheckpointKind::Zero1 || result->kind == CheckpointKind::Zero2;
        CHECK((recorded(*result->file(result->templateModel).content) == NodeKind::Dict) == mayHaveIt);
        checkSameState(result, source);
        checkSameElements(*result, *source);
    }
}
