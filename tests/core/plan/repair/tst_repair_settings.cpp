// SPDX-License-Identifier: Apache-2.0
// Repairs of single values: steps, options, counters, schedules, ties.
#include "core/layout/fragments.h"
#include "core/plan/repair/repair.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/repair/repair_fixture.h"

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

CheckpointPtr repaired(const Patchable& source, const RepairOptions& options, const fs::path& destination)
{
    const Repaired made = repair(source, options, destination);
    JobContext job;
    const CheckResult after = examine(io::realFileSystem(), destination, {}, job).value();
    for (const std::string& code : made.plan->repair->fixed)
        CHECK(findingOf(after, code) == nullptr);
    return made.copy;
}

std::vector<double> ratesOf(const Checkpoint& checkpoint)
{
    std::vector<double> out;
    const PickleGraph& graph = checkpoint.file(checkpoint.templateOptim).content->pickle();
    for (const ParamGroup& group : checkpoint.groups)
        out.push_back(asNumber(graph, lookup(graph, group.options, "lr")).value_or(-1));
    return out;
}

NodeId modelAt(const Checkpoint& checkpoint, std::initializer_list<const char*> way)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.templateModel).content->pickle();
    NodeId node = graph.root();
    for (const char* key : way)
        node = lookup(graph, node, key);
    return node;
}

} // namespace

TEST_CASE("the key that the stock converter requires is added if no slices are merged")
{
    const CheckpointPtr whole = openForPlan(planSample("zero2-w2"));
    const Patchable damaged("zero2-w2");
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired made = repair(damaged, {.fixes = {"S2"}}, folder / "repaired");
    checkSameState(made.copy, whole);
    CHECK(made.plan->marks.empty());
    const PickleGraph& graph = made.copy->file(made.copy->templateModel).content->pickle();
    const NodeId info = lookup(graph, graph.root(), "universal_checkpoint_info");
    REQUIRE(info != kNoNode);
    CHECK(asNumber(graph, lookup(graph, info, "universal_checkpoint_version")) == 0.2);
    const PickleGraph& before = whole->file(whole->templateModel).content->pickle();
    CHECK(mappingItems(graph, graph.root()).size() == mappingItems(before, before.root()).size() + 2);
    const Patchable cut("slices-w4");
    cut.operateOnAll(
        "model_states.pt", [](Surgery& surgery) { surgery.remove({}, "universal_checkpoint_info"); });
    CHECK(refusalOf(cut, {.fixes = {"S2"}}).code == ErrorCode::Unsupported);
}

TEST_CASE("reviewed values are written, and nothing else changes")
{
    for (const char* sample : {"zero1-w2", "zero2-w2", "zero3-w4", "bf16opt-w2", "roundrobin-w3"}) {
        CAPTURE(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Patchable source(sample);
        const CheckpointPtr before = openForPlan(source.run());
        const CheckpointPtr after = repaired(
            source, {.values = {"step=41", "global_steps=43", "lr=0.125", "1:lr=0.25"}}, folder / "set");
        CHECK(stepsOf(*after) == std::set<double>{41});
        CHECK(after->steps.globalSteps == 43);
        std::vector<double> rates(before->groups.size(), 0.125);
        if (rates.size() > 1)
            rates[1] = 0.25;
        CHECK(ratesOf(*after) == rates);
        for (uint32_t i = 0; i < before->params.size(); ++i) {
            const std::string& name = before->params[i].name;
            for (const std::string& state : statesOf(*before, ParamId{i}))
                CHECK(bytesOf(*after, name, state) == bytesOf(*before, name, state));
        }
    }
}

TEST_CASE("the loss scale and the counters are set in the keys that the engine reads")
{
    for (const char* sample : {"zero1-w2", "zero2-w2", "stage0-fp16"}) {
        CAPTURE(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Patchable source(sample);
        REQUIRE(openForPlan(source.run())->lossScale.value_or(8) != 8);
        const CheckpointPtr after = repaired(
            source, {.values = {"scale=8", "skipped_steps=2", "global_samples=77"}}, folder / "set");
        CHECK(after->lossScale == 8.0);
        CHECK(after->steps.skippedSteps == 2);
        CHECK(after->steps.globalSamples == 77);
    }
}

TEST_CASE("a key of the scheduler is set")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Patchable source("zero2-w2");
    const char* key = "last_epoch";
    const CheckpointPtr after = repaired(source, {.values = {"lr_scheduler.last_epoch=11"}}, folder / "set");
    CHECK(
        asInteger(after->file(after->templateModel).content->pickle(), modelAt(*after, {"lr_scheduler", key}))
        == 11);
}

TEST_CASE("values that cannot be set are refused by name")
{
    const Patchable source("zero2-w2");
    CHECK(refusalOf(source, {.values = {"no-value"}}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.values = {"step=-1"}}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.values = {"9:lr=1"}}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.values = {"momentum=0.9"}}).code == ErrorCode::Unsupported);
    CHECK(refusalOf(source, {.values = {"lr_scheduler.no_such_key=1"}}).code == ErrorCode::Unsupported);
    CHECK(refusalOf(Patchable("stage0-fp32"), {.values = {"step=3"}}).code == ErrorCode::Unsupported);
}

TEST_CASE("a step that contradicts the counters is set to theirs")
{
    for (const char* sample : {"zero2-w2", "zero3-w4"}) {
        CAPTURE(sample);
        const Patchable source(sample);
        const CheckpointPtr whole = openForPlan(source.run());
        source.operateOnAll("model_states.pt",
            [&](Surgery& surgery) { surgery.set({"global_steps"}, *whole->steps.globalSteps + 20); });
        REQUIRE(troubles(source.check()).contains("step-off-counters"));
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const CheckpointPtr after = repaired(source, {.fixes = {"S6"}}, folder / "set");
        const int64_t skipped = whole->steps.skippedSteps.value_or(0);
        CHECK(stepsOf(*after)
            == std::set<double>{static_cast<double>(*whole->steps.globalSteps + 20 - skipped)});
    }
}

TEST_CASE("learning rates are set to the scheduler's, and its count to the engine's")
{
    const Patchable source("zero2-w2");
    const CheckpointPtr whole = openForPlan(source.run());
    const std::vector<double> rates = ratesOf(*whole);
    source.operateOnAll("optim_states.pt", [](Surgery& surgery) {
        surgery.set({"optimizer_state_dict", "base_optimizer_state", "param_groups", 1, "lr"},
            surgery.builder().real(0.75));
    });
    REQUIRE(troubles(source.check()) == std::set<std::string>{"schedule-discontinuity"});
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    CHECK(ratesOf(*repaired(source, {.fixes = {"S16"}}, folder / "set")) == rates);
}

TEST_CASE("tied names get the owner's values")
{
    const Patchable source("zero2-w2");
    source.operateOnAll("model_states.pt", [](Surgery& surgery) {
        surgery.editTensor({"module", "lm_head.weight"}, [](std::string&) {}); // a copy of its own
    });
    source.operateOnAll("model_states.pt", [](Surgery& surgery) {
        surgery.editTensor({"module", "lm_head.weight"}, [](std::string& elements) { elements[9] ^= 1; });
    });
    REQUIRE(troubles(source.check()).contains("tied-diverged"));
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const CheckpointPtr after = repaired(source, {.fixes = {"tied-diverged"}}, folder / "set");
    CHECK(modelAt(*after, {"module", "lm_head.weight"})
        == modelAt(*after, {"module", "tok_embeddings.weight"}));
}
