// SPDX-License-Identifier: Apache-2.0
// Frozen parameters and buffers that no file of a checkpoint holds are grafted from another one, or from
// weights.
#include "core/engine/write/execute.h"
#include "core/layout/fragments.h"
#include "core/plan/export/export.h"
#include "tests/core/plan/repair/repair_fixture.h"

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kFrozen = "positions.weight";
constexpr const char* kBuffer = "inverse_frequency";

/// ZeRO-3's fragments of a frozen parameter.
void loseFrozen(const Patchable& damaged)
{
    damaged.operateOnAll(
        "model_states.pt", [](Surgery& surgery) { surgery.remove({"frozen_param_fragments"}, kFrozen); });
}

/// Makes the frozen table many times as large as all that is trained.
void enlargeFrozen(const Patchable& damaged)
{
    constexpr uint64_t kRows = 8000;
    damaged.operateOnAll("model_states.pt", [](Surgery& surgery) {
        const bool sliced = asTensor(surgery.graph(), surgery.at({"module", kFrozen}))->elements() == 0;
        const auto zeros = [&](const std::vector<uint64_t>& shape, uint64_t elements) {
            return surgery.composer().smallTensor(DType::BFloat16, shape, std::string(elements * 2, '\0'));
        };
        PickleBuilder& builder = surgery.builder();
        const std::vector<NodeId> shape{builder.integer(kRows), builder.integer(16)};
        surgery.set({"frozen_param_shapes", kFrozen}, builder.tuple(shape));
        if (sliced) {
            surgery.set({"frozen_param_fragments", kFrozen}, zeros({kRows * 4}, kRows * 4));
            return;
        }
        surgery.set({"frozen_param_fragments", kFrozen}, zeros({kRows, 16}, kRows * 16));
        surgery.set({"module", kFrozen}, zeros({kRows, 16}, kRows * 16));
    });
}

void checkWeightsAreWhole(const CheckpointPtr& copy, const char* sample, const std::string& grafted)
{
    const CheckpointPtr whole = openForPlan(planSample(sample));
    REQUIRE(copy->params.size() == whole->params.size());
    checkSameState(copy, whole);
    CHECK(bytesOf(*copy, grafted, "weight") == bytesOf(*whole, grafted, "weight"));
    CHECK(copy->params[index(copy->findParam(grafted).value())].role
        == whole->params[index(whole->findParam(grafted).value())].role);
}

/// Its weights as another tool writes them.
void exportWeights(const char* sample, const fs::path& destination)
{
    JobContext job;
    ExportOptions options;
    options.folderName = destination.filename().string();
    const auto plan = planExport(io::realFileSystem(), openForPlan(planSample(sample)), options, job);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    ExecuteOptions execution;
    execution.destination = destination.parent_path();
    REQUIRE(execute(io::realFileSystem(), **plan, execution, job));
}

} // namespace

TEST_CASE("frozen parameters of ZeRO-3 are grafted from another checkpoint of the run")
{
    const Patchable damaged("zero3-w4");
    loseFrozen(damaged);
    REQUIRE(troubles(damaged.check()) == std::set<std::string>{"frozen-lost"});
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired
        = repair(damaged, {.fixes = {"S8"}, .donor = planSample("zero3-w4").string()}, folder / "repaired");
    CHECK(repaired.plan->repair->fixed == std::vector<std::string>{"frozen-lost"});
    checkWeightsAreWhole(repaired.copy, "zero3-w4", kFrozen);
    CHECK(troublesOf(folder / "repaired") == std::set<std::string>{"marked"});
}

TEST_CASE("frozen parameters are grafted from the base model's weights, too")
{
    const Patchable damaged("zero3-w4");
    loseFrozen(damaged);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    exportWeights("zero3-w4", folder / "base");
    const Repaired repaired
        = repair(damaged, {.fixes = {"all"}, .donor = (folder / "base").string()}, folder / "repaired");
    const CheckpointPtr whole = openForPlan(planSample("zero3-w4"));
    CHECK(bytesOf(*repaired.copy, kFrozen, "weight") == bytesOf(*whole, kFrozen, "weight"));
    CHECK(repaired.copy->complete);
}

TEST_CASE("frozen parameters that the module of ZeRO-2 lacks are grafted into it")
{
    const Patchable damaged("zero2-w2");
    const CheckpointPtr whole = openForPlan(planSample("zero2-w2"));
    std::string frozen;
    for (const Parameter& param : whole->params) {
        if (param.role == ParamRole::Frozen && param.sharedWith == kNoParam)
            frozen = param.name;
    }
    REQUIRE(!frozen.empty());
    damaged.operateOnAll("model_states.pt", [&](Surgery& surgery) {
        surgery.remove({"module"}, frozen);
        surgery.remove({"frozen_param_fragments"}, frozen);
    });
    REQUIRE(troubles(damaged.check()).contains("frozen-lost"));
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired
        = repair(damaged, {.fixes = {"S8"}, .donor = planSample("zero2-w2").string()}, folder / "repaired");
    checkWeightsAreWhole(repaired.copy, "zero2-w2", frozen);
    CHECK(troublesOf(folder / "repaired") == std::set<std::string>{"marked"});
}

TEST_CASE("names that PEFT has changed are found in the base model")
{
    const std::string renamed = "base_model.model.positions.base_layer.weight";
    const Patchable damaged("zero2-w2");
    damaged.operateOnAll("model_states.pt", [&](Surgery& surgery) {
        surgery.remove({"module"}, kFrozen);
        surgery.remove({"frozen_param_fragments"}, kFrozen);
        surgery.rename({"frozen_param_shapes"}, kFrozen, renamed);
    });
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    exportWeights("zero2-w2", folder / "base");
    const Repaired repaired
        = repair(damaged, {.fixes = {"S8"}, .donor = (folder / "base").string()}, folder / "repaired");
    const CheckpointPtr whole = openForPlan(planSample("zero2-w2"));
    CHECK(bytesOf(*repaired.copy, renamed, "weight") == bytesOf(*whole, kFrozen, "weight"));
}

TEST_CASE("buffers are taken from the neighbouring tag, or from the given donor")
{
    for (const std::string& donor : {std::string(), planSample("zero2-w2").string()}) {
        CAPTURE(donor);
        const Patchable damaged("zero2-w2");
        damaged.operateOnAll(
            "model_states.pt", [](Surgery& surgery) { surgery.remove({"module"}, kBuffer); });
        REQUIRE(troubles(damaged.check()) == std::set<std::string>{"buffers-lost"});
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Repaired repaired = repair(damaged, {.fixes = {"S10"}, .donor = donor}, folder / "repaired");
        checkWeightsAreWhole(repaired.copy, "zero2-w2", kBuffer);
        CHECK(troublesOf(folder / "repaired") == std::set<std::string>{"marked"});
    }
}

TEST_CASE("without a checkpoint that has them, grafts are refused with a hint")
{
    const Patchable damaged("zero3-w4");
    loseFrozen(damaged);
    const Error alone = refusalOf(damaged, {.fixes = {"S8"}});
    CHECK(alone.code == ErrorCode::Refused);
    CHECK(alone.hint.text.find("--from") != std::string::npos);
    const Error unrelated = refusalOf(damaged, {.fixes = {"S8"}, .donor = planSample("slices-w4").string()});
    CHECK(unrelated.code == ErrorCode::Refused);
    CHECK(unrelated.message.find(kFrozen) != std::string::npos);
}

TEST_CASE("a frozen base that every tag repeats is left out of a copy on request")
{
    const Patchable small("zero2-w2"); // there it is no larger than what is trained
    CHECK(refusalOf(small, {.fixes = {"F6"}}).code == ErrorCode::NotFound);
    for (const std::string sample : {"zero2-w2", "zero3-w4"}) {
        CAPTURE(sample);
        const Patchable damaged(sample);
        enlargeFrozen(damaged);
        if (sample == "zero3-w4") // a run of one tag repeats nothing
            fs::copy(damaged.tag(), damaged.run() / "global_step3", fs::copy_options::recursive);
        REQUIRE(findingOf(damaged.check(), "frozen-bloat") != nullptr);
        const CheckpointPtr before = openForPlan(damaged.run());
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Repaired repaired = repair(damaged, {.fixes = {"F6"}}, folder / "repaired");
        CHECK(repaired.plan->marks.empty());
        CHECK(troublesOf(folder / "repaired").empty());
        CHECK_FALSE(repaired.copy->findParam(kFrozen));
        const auto isFrozen = [](const Parameter& param) { return param.role == ParamRole::Frozen; };
        const auto left = std::count_if(before->params.begin(), before->params.end(), isFrozen);
        CHECK(repaired.copy->params.size() + static_cast<size_t>(left) == before->params.size());
        for (const Parameter& param : repaired.copy->params) {
            const ParamId id = before->findParam(param.name).value();
            for (const std::string& state : statesOf(*before, id))
                CHECK(bytesOf(*repaired.copy, param.name, state) == bytesOf(*before, param.name, state));
        }
        const PickleGraph& graph = repaired.copy->file(repaired.copy->templateModel).content->pickle();
        for (const char* key : {"frozen_param_shapes", "frozen_param_fragments"})
            CHECK(graph.kind(lookup(graph, graph.root(), key)) == NodeKind::None);
    }
}

TEST_CASE("models with experts keep their frozen parameters")
{
    const Patchable damaged("experts-w4");
    damaged.operate("mp_rank_00_model_states.pt", [](Surgery& surgery) {
        const std::vector<NodeId> names{surgery.builder().string("lost.buffer")};
        surgery.set({"buffer_names"}, surgery.builder().list(names));
    });
    REQUIRE(troubles(damaged.check()).contains("buffers-lost"));
    const Error error = refusalOf(damaged, {.fixes = {"S10"}, .donor = planSample("experts-w4").string()});
    CHECK(error.code == ErrorCode::Unsupported);
    CHECK(error.message.find("experts") != std::string::npos);
}
