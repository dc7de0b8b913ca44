// SPDX-License-Identifier: Apache-2.0
// Repairs of model files: lost or torn ones are rebuilt from another tag's, damaged weights from the masters.
#include "core/layout/fragments.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/repair/repair_fixture.h"

#include <algorithm>
#include <bit>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kModel = "mp_rank_00_model_states.pt";

constexpr const char* kCounted = "batches_seen"; ///< a buffer that every batch changes: no other tag has it

/// Counters, schedule, all states and weights but for those of `other`.
void checkSameModel(const CheckpointPtr& copy, const CheckpointPtr& whole, const std::string& other = {})
{
    CHECK(copy->complete);
    CHECK(copy->steps.globalSteps == whole->steps.globalSteps);
    CHECK(copy->steps.globalSamples == whole->steps.globalSamples);
    CHECK(copy->steps.skippedSteps == whole->steps.skippedSteps);
    const auto scheduleOf = [](const Checkpoint& checkpoint) {
        const PickleGraph& graph = checkpoint.file(checkpoint.templateModel).content->pickle();
        return nodeText(graph, lookup(graph, graph.root(), "lr_scheduler"));
    };
    CHECK(scheduleOf(*copy) == scheduleOf(*whole));
    size_t compared = 0;
    for (uint32_t i = 0; i < whole->params.size(); ++i) {
        const std::string& name = whole->params[i].name;
        CAPTURE(name);
        for (const std::string& state : statesOf(*whole, ParamId{i})) {
            CHECK((bytesOf(*copy, name, state) == bytesOf(*whole, name, state)) == (name != other));
            ++compared;
        }
    }
    CHECK(compared > whole->params.size());
    if (other.empty())
        checkSameState(copy, whole);
}

CheckpointPtr wholeOf(const char* sample)
{
    return openForPlan(planSample(sample));
}

/// The record of a file that holds a parameter's weight.
std::string recordOf(const Checkpoint& checkpoint, const char* name)
{
    const WholeTensor* whole = checkpoint.wholeOf(checkpoint.findParam(name).value());
    REQUIRE(whole != nullptr);
    return std::string(checkpoint.file(whole->run.file).content->zip().records()[whole->run.record].name);
}

uint64_t placeOf(const Checkpoint& checkpoint, const char* name)
{
    return checkpoint.wholeOf(checkpoint.findParam(name).value())->run.byteOffset;
}

void flip(const fs::path& file, uint64_t at)
{
    std::string bytes = slurp(file);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x11);
    spill(file, bytes);
}

} // namespace

TEST_CASE("a lost model file is rebuilt from the neighbouring tag's and the masters")
{
    const Patchable damaged("zero2-w2");
    fs::remove(damaged.tag() / kModel);
    REQUIRE(troubles(damaged.check()).contains("model-states-missing"));
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(damaged, {.fixes = {"L7"}}, folder / "repaired");
    CHECK(repaired.plan->repair->fixed == std::vector<std::string>{"model-states-missing"});
    checkSameModel(repaired.copy, wholeOf("zero2-w2"), kCounted);
    CHECK(troublesOf(folder / "repaired") == std::set<std::string>{"marked"});
}

TEST_CASE("a torn model file is rebuilt in the same way")
{
    const Patchable damaged("zero2-w2");
    const std::string bytes = slurp(damaged.tag() / kModel);
    spill(damaged.tag() / kModel, bytes.substr(0, 300));
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    checkSameModel(
        repair(damaged, {.fixes = {"all"}}, folder / "repaired").copy, wholeOf("zero2-w2"), kCounted);
}

TEST_CASE("a lost model file and a lost shard are repaired together")
{
    const Patchable damaged("zero2-w2");
    fs::remove(damaged.tag() / kModel);
    fs::remove(damaged.tag() / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(damaged, {.fixes = {"all"}}, folder / "repaired");
    CHECK(repaired.copy->complete);
    CHECK(repaired.copy->steps.globalSteps == 6);
}

TEST_CASE("without another tag, a lost model file needs a donor")
{
    const Patchable damaged("bf16opt-w2");
    fs::remove(damaged.tag() / kModel);
    const Error error = refusalOf(damaged, {.fixes = {"L7"}});
    CHECK(error.code == ErrorCode::Refused);
    CHECK(error.hint.text.find("--from") != std::string::npos);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired
        = repair(damaged, {.fixes = {"L7"}, .donor = planSample("bf16opt-w2").string()}, folder / "repaired");
    checkSameModel(repaired.copy, wholeOf("bf16opt-w2"));
}

TEST_CASE(
    "files of experts, layers and slices, and the model file of a universal folder, are refused by name")
{
    struct Lost {
        const char* sample;
        const char* ending;
    };
    for (const Lost& lost : {Lost{"experts-w4", "expert_1_mp_rank_00_model_states.pt"},
             Lost{"pipeline-w4", "layer_01-model_states.pt"}, Lost{"slices-w4", "mp_rank_01_model_states.pt"},
             Lost{"autoep-zero3-w4", "zero_pp_rank_2_mp_rank_00_model_states.pt"}}) {
        CAPTURE(std::string(lost.sample));
        const Patchable damaged(lost.sample);
        const std::vector<std::string> files = damaged.filesLike(lost.ending);
        REQUIRE(!files.empty());
        fs::remove(damaged.tag() / files.front());
        REQUIRE(troubles(damaged.check()).contains("model-states-missing"));
        const Error error = refusalOf(
            damaged, {.fixes = {"model-states-missing"}, .donor = planSample(lost.sample).string()});
        CHECK(error.code == ErrorCode::Unsupported);
        CHECK(error.message.find("not rebuilt") != std::string::npos);
    }
    const Patchable universal("zero2-universal-w2", "global_step5_universal");
    fs::remove(universal.tag() / kModel);
    CHECK(refusalOf(universal, {.fixes = {"L7"}, .donor = planSample("zero2-universal-w2").string()}).code
        != ErrorCode::Internal);
}

TEST_CASE("lost files of experts are rebuilt from the experts' masters, bit for bit")
{
    const CheckpointPtr whole = wholeOf("experts-w4");
    const Patchable damaged("experts-w4");
    const std::vector<std::string> files = damaged.filesLike("expert_1_mp_rank_00_model_states.pt");
    REQUIRE(files.size() == 2); // of both layers
    for (const std::string& file : files)
        fs::remove(damaged.tag() / file);
    fs::remove(damaged.tag() / "layer_0_expert_3_mp_rank_00_model_states.pt");
    REQUIRE(troubles(damaged.check()) == std::set<std::string>{"model-states-missing", "moe-incomplete"});
    for (const std::string word : {"S15", "all"}) {
        CAPTURE(word);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Repaired repaired = repair(damaged, {.fixes = {word}}, folder / "repaired");
        checkSameModel(repaired.copy, whole);
        CHECK(repaired.plan->marks.empty());
        CHECK(troublesOf(folder / "repaired", CheckDepth::Bytes).empty());
    }
    for (const std::string& file : damaged.filesLike("model_states.pt")) {
        if (file.starts_with("layer_1"))
            fs::remove(damaged.tag() / file);
    }
    CHECK(refusalOf(damaged, {.fixes = {"S15"}}).code == ErrorCode::Unsupported); // no file records the form
}

TEST_CASE("model files of ZeRO-3 are rebuilt from the other ranks', or from another tag's")
{
    const char* sample = "zero3-w4";
    for (const std::string lost : {"zero_pp_rank_2_", "zero_pp_rank_0_", "zero_pp_rank_"}) {
        CAPTURE(lost);
        const Patchable damaged(sample);
        for (const std::string& file : damaged.filesLike("model_states.pt")) {
            if (file.starts_with(lost))
                fs::remove(damaged.tag() / file);
        }
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Repaired repaired
            = repair(damaged, {.fixes = {"L7"}, .donor = planSample(sample).string()}, folder / "repaired");
        checkSameModel(repaired.copy, wholeOf(sample));
    }
}

TEST_CASE("weights with a damaged record are rebuilt from the masters, others are refused by name")
{
    const CheckpointPtr whole = wholeOf("zero2-w2");
    const char* name = "layers.0.attention.wq.weight";
    const Patchable damaged("zero2-w2");
    flip(damaged.tag() / kModel, placeOf(*whole, name));
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(damaged, {.fixes = {"record-corrupt"}}, folder / "repaired");
    CHECK(repaired.plan->marks.empty());
    checkSameModel(repaired.copy, whole);

    const Patchable other("zero2-w2");
    const auto buffer = std::find_if(whole->params.begin(), whole->params.end(), [&](const Parameter& param) {
        const auto id = whole->findParam(param.name);
        return param.role == ParamRole::Buffer && param.elements > 0 && whole->wholeOf(*id) != nullptr;
    });
    REQUIRE(buffer != whole->params.end());
    CAPTURE(recordOf(*whole, buffer->name.c_str()));
    flip(other.tag() / kModel, placeOf(*whole, buffer->name.c_str()));
    const Error error = refusalOf(other, {.fixes = {"record-corrupt"}});
    CHECK(error.code == ErrorCode::Unsupported);
    CHECK(error.message.find(buffer->name) != std::string::npos);
}

TEST_CASE("of two ranks, the one that is not at the model file's step is the stale one")
{
    for (const std::string file : {"bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
             "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"}) {
        CAPTURE(file);
        const Patchable damaged("zero2-w2");
        fs::copy_file(damaged.run() / "global_step3" / file, damaged.tag() / file,
            fs::copy_options::overwrite_existing);
        const CheckResult found = damaged.check();
        REQUIRE(troubles(found).contains("step-mismatch"));
        CHECK(findingOf(found, "step-mismatch")->finding.where.text() == file);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        ReshardOptions other;
        other.worldSize = 3;
        rewrite(wholeOf("zero2-w2"), other, folder / "donor");
        const Repaired repaired = repair(damaged,
            {.fixes = {"all"},
                .donor = (folder / "donor").string(),
                .masters = RepairOptions::Masters::Donor,
                .moments = RepairOptions::Moments::Donor},
            folder / "repaired");
        checkSameModel(repaired.copy, wholeOf("zero2-w2"));
    }
}

TEST_CASE("NaN weights are rebuilt from the masters, which are not reported as wrong")
{
    const CheckpointPtr whole = wholeOf("zero2-w2");
    const Patchable damaged("zero2-w2");
    damaged.operate(kModel, [&](Surgery& surgery) {
        surgery.editTensor({"module", "layers.0.mlp.up.weight"},
            [](std::string& elements) { std::fill_n(elements.begin() + 6, 4, '\x7f'); });
        surgery.editTensor({"module", "layers.0.mlp.down.weight"},
            [](std::string& elements) { elements.replace(6, 4, "\xff\xff\xff\xff"); });
    });
    const std::set<std::string> found = troubles(damaged.check(CheckDepth::Bytes));
    CAPTURE(found);
    REQUIRE(found.contains("non-finite"));
    CHECK(textOf(*findingOf(damaged.check(CheckDepth::Bytes), "non-finite")).find("2 NaN")
        != std::string::npos);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(damaged, {.fixes = {"non-finite"}}, folder / "repaired");
    CHECK(repaired.plan->marks.empty());
    CHECK(bytesOf(*repaired.copy, "layers.0.mlp.down.weight", "weight")
        == bytesOf(*whole, "layers.0.mlp.down.weight", "weight"));
    CHECK(findingOf(damaged.check(CheckDepth::Bytes), "masters-not-copies")->finding.where.text()
        == "layers.0.mlp.up.weight#fp32"); // 0x7f7f is a number, and another one than the master
}

TEST_CASE("if the first rank's file differs, another one is the template of all")
{
    for (const std::string sample : {"zero3-w4", "roundrobin-w3"}) {
        CAPTURE(sample);
        const Patchable damaged(sample);
        const bool zero3 = sample == "zero3-w4";
        damaged.operate("bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", [&](Surgery& surgery) {
            const Way state = zero3 ? Way{"optimizer_state_dict", "optimizer_state_dict", "state", 0}
                                    : Way{"optimizer_state_dict", "base_optimizer_state", "state", 0};
            Way step = state;
            step.emplace_back("step");
            const TensorView view = asTensor(surgery.graph(), surgery.at(step)).value_or(TensorView{});
            if (view.elements() == 1 && looksLikeTensor(surgery.graph(), surgery.at(step)))
                surgery.editTensor(step, [](std::string& bytes) {
                    const uint32_t two = std::bit_cast<uint32_t>(2.0F);
                    std::copy_n(reinterpret_cast<const char*>(&two), 4, bytes.data());
                });
            else
                surgery.set(step, 2);
            const Way master = zero3 ? Way{"optimizer_state_dict", "fp32_flat_groups", 0}
                                     : Way{"optimizer_state_dict", "single_partition_of_fp32_groups", 0};
            surgery.editTensor(master, [](std::string& bytes) { bytes[bytes.size() / 2 - 1] ^= 1; });
        });
        REQUIRE(troubles(damaged.check()).contains("step-mismatch"));
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        ReshardOptions other;
        other.worldSize = 2;
        rewrite(wholeOf(sample.c_str()), other, folder / "donor");
        const Repaired repaired = repair(damaged,
            {.fixes = {"step-mismatch"},
                .donor = (folder / "donor").string(),
                .masters = RepairOptions::Masters::Donor,
                .moments = RepairOptions::Moments::Donor},
            folder / "repaired");
        if (zero3)
            checkSameState(repaired.copy, wholeOf(sample.c_str()));
        CHECK(repaired.copy->complete);
    }
}
