// SPDX-License-Identifier: Apache-2.0
// Plans for checkpoints that releases before 0.14 wrote: the output has today's form.
#include "core/base/finding_codes.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr const char* kBelowThree[]
    = {"ds0510-zero2-w3", "ds067-zero1-w2", "ds0103-bf16opt-w2", "ds0135-zero2-w3"};
constexpr const char* kStageThree[] = {"ds053-zero3-w3", "ds083-zero3-w2"};

CheckpointPtr written(const CheckpointPtr& source, const ReshardOptions& options, const io::Path& folder)
{
    return rewrite(source, options, folder, code::kAliasUnrecorded);
}

NodeId modelKey(const Checkpoint& checkpoint, std::string_view key)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.templateModel).content->pickle();
    return lookup(graph, graph.root(), key);
}

} // namespace

TEST_CASE("ZeRO-1 and ZeRO-2 of old releases convert to every stage and number of ranks")
{
    for (const char* name : kBelowThree) {
        const CheckpointPtr source = openForPlan(planSample(name));
        for (const uint32_t ranks : {1u, 2u, 3u, 7u}) {
            for (const int stage : {source->zeroStage, 1, 2, 3}) {
                CAPTURE(name);
                CAPTURE(ranks);
                CAPTURE(stage);
                const TemporaryFolder folder;
                const auto result = rewrite(source, {.worldSize = ranks, .stage = stage}, folder.path());
                CHECK(result->kind == (stage == source->zeroStage ? source->kind : result->kind));
                checkSameState(result, source);
                const PickleGraph& graph = result->file(result->templateModel).content->pickle();
                CHECK(graph.kind(modelKey(*result, "param_shapes")) == NodeKind::List);
                CHECK(modelKey(*result, "buffer_names") != kNoNode);
            }
        }
    }
}

TEST_CASE("a universal folder of an old checkpoint holds the same state")
{
    for (const char* name : {"ds0510-zero2-w3", "ds0135-zero2-w3", "ds053-zero3-w3"}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(name));
        const auto result = written(source, {.worldSize = 0, .form = TargetForm::Universal}, folder.path());
        checkSameState(result, source);
    }
}

TEST_CASE("ZeRO-3 of old releases gets placeholders without elements, which a strict load asks for")
{
    for (const char* name : kStageThree) {
        const CheckpointPtr source = openForPlan(planSample(name));
        for (const uint32_t ranks : {1u, 2u, 3u, 5u}) {
            CAPTURE(name);
            CAPTURE(ranks);
            const TemporaryFolder folder;
            const auto result = written(source, {.worldSize = ranks}, folder.path());
            checkSameState(result, source);
            const PickleGraph& graph = result->file(result->templateModel).content->pickle();
            const auto items = mappingItems(graph, modelKey(*result, "module"));
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                const auto entry = asString(graph, items[i]);
                const auto tensor = asTensor(graph, items[i + 1]);
                const auto param = entry ? result->findParam(*entry) : std::nullopt;
                if (tensor && (!param || result->params[index(*param)].role == ParamRole::Trainable))
                    CHECK(tensor->sizes == Shape{0});
            }
        }
    }
}

TEST_CASE("stage 3 of a release that records no ties is not converted to a lower stage, where the tensors "
          "would be missing")
{
    JobContext job;
    const CheckpointPtr source = openForPlan(planSample("ds083-zero3-w2"));
    const TemporaryFolder folder;
    const auto plan = planReshard(io::realFileSystem(), source, {.worldSize = 2, .stage = 2}, job);
    REQUIRE(!plan.has_value());
    CHECK(plan.error().code == ErrorCode::Refused);
    CHECK(plan.error().message.find("no shard holds it") != std::string::npos);
}

TEST_CASE("a loss scaler of an old release gets what today's class asks for")
{
    for (const char* name : {"ds0510-zero2-w3", "ds083-zero3-w2"}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(name));
        const auto result = written(source, {.worldSize = 2}, folder.path());
        const PickleGraph& graph = result->file(result->templateOptim).content->pickle();
        const auto scaler = asObject(graph, lookup(graph, result->optimWrapper, "loss_scaler"));
        REQUIRE(scaler);
        CHECK(scaler->className == "DynamicLossScaler");
        CHECK(asNumber(graph, lookup(graph, scaler->attributes, "cur_scale")) == source->lossScale);
        for (const char* key : {"raise_error_at_min_scale", "dynamic", "dtype"})
            CHECK(lookup(graph, scaler->attributes, key) != kNoNode);
    }
}

TEST_CASE("states that old releases saved without options are rewritten with the given options")
{
    for (const char* name : {"ds0310-zero2-w2", "ds045-zero2-w3"}) {
        CAPTURE(name);
        JobContext job;
        const CheckpointPtr source = openForPlan(planSample(name));
        const auto without = planReshard(io::realFileSystem(), source, {.worldSize = 2}, job);
        REQUIRE(!without.has_value());
        CHECK(without.error().message.find("options") != std::string::npos);
        for (const uint32_t ranks : {1u, 2u, 5u}) {
            for (const int stage : {1, 2, 3}) {
                CAPTURE(ranks);
                CAPTURE(stage);
                const TemporaryFolder folder;
                const auto result = rewrite(source,
                    {.worldSize = ranks,
                        .stage = stage,
                        .optimizerOptions
                        = {"betas=0.9,0.95", "eps=1e-8", "weight_decay=0", "bias_correction=True"}},
                    folder.path());
                CHECK(result->zeroStage == stage);
                for (const ParamGroup& group : result->groups)
                    CHECK(group.options != kNoNode);
            }
        }
    }
}
