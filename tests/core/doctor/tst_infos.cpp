// SPDX-License-Identifier: Apache-2.0
// Findings of severity info: facts about healthy files, reported only for the samples that they apply to.
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"
#include "tests/support/damages.h"
#include "tests/support/swapped_checkpoint.h"
#include "tests/support/synthetic_checkpoint.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Samples ("NAME:TAG") in which a finding of this code is.
std::set<std::string> samplesWith(std::string_view code)
{
    std::set<std::string> out;
    for (const std::string& sample : allSamples()) {
        if (findingOf(Patchable(sample).check(), code) != nullptr)
            out.insert(sample);
    }
    return out;
}

} // namespace

TEST_CASE("universal_checkpoint_info is missing, although the stock converter needs it")
{
    const auto samples = samplesWith("universal-info-missing");
    CHECK(samples.contains("zero2-w2:global_step6"));
    CHECK(samples.contains("megatron-w2:global_step2"));
    CHECK(!samples.contains("megatron-w2:global_step3")); // records it
    CHECK(!samples.contains("slices-w4:global_step3"));
    CHECK(!samples.contains("zero3-w4:global_step5")); // not asked for
    CHECK(!samples.contains("stage0-fp16:global_step7"));

    const Patchable copy("slices-w4");
    copy.operateOnAll(
        "model_states.pt", [](Surgery& surgery) { surgery.remove({}, "universal_checkpoint_info"); });
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "universal-info-missing");
    CHECK(textOf(found).find("--patterns") != std::string::npos);
    CHECK(found.command == "convert " + copy.run().string() + " DST --to universal");
}

TEST_CASE("states of other optimizers than Adam")
{
    CHECK(samplesWith("unknown-optimizer-keys")
        == std::set<std::string>{"bnb8bit-w2:global_step3", "muon-w3:global_step3"});
}

TEST_CASE("tensors that use a small part of their storages")
{
    CHECK(samplesWith("storage-bloat").empty());
    const Patchable copy("zero2-w2");
    // The tensor of 8 rows is a view of a storage of 200,000.
    const Way kTensor{"module", "positions.weight"};
    copy.operateOnAll("model_states.pt", [&](Surgery& surgery) {
        constexpr uint64_t kRows = 200000;
        surgery.set(kTensor,
            surgery.composer().smallTensor(DType::BFloat16, {kRows, 16}, std::string(kRows * 16 * 2, '\0')));
    });
    copy.operateOnAll("model_states.pt", [&](Surgery& surgery) {
        const auto arguments = surgery.graph().items(surgery.graph().arguments(surgery.at(kTensor)));
        PickleBuilder& builder = surgery.builder();
        const std::vector<NodeId> shape{builder.integer(8), builder.integer(16)};
        surgery.composer().substitute(arguments[2], builder.tuple(shape));
    });
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "storage-bloat");
    CHECK(troubles(result).empty());
    CHECK(textOf(found).find("6.1 MiB could be saved") != std::string::npos);
}

// The reader keeps no content of a ZeRO-3 model file with so many records.
TEST_CASE("tensors that use a small part of their storages, in a model file with very many records")
{
    const Patchable copy("zero3-w4");
    constexpr const char* kFile = "zero_pp_rank_1_mp_rank_00_model_states.pt";
    copy.operate(kFile, [](Surgery& surgery) {
        const NodeId list = surgery.builder().list();
        for (int i = 0; i < 4'200; ++i)
            surgery.builder().append(list, surgery.composer().smallTensor(DType::UInt8, {1}, "x"));
        surgery.add({}, "many", list);
    });
    copy.operate(kFile, [](Surgery& surgery) {
        constexpr uint64_t kWide = uint64_t{2} << 20U;
        surgery.add(
            {}, "wide", surgery.composer().smallTensor(DType::UInt8, {kWide}, std::string(kWide, 'x')));
    });
    CHECK(findingOf(copy.check(), "storage-bloat") == nullptr);
    copy.operate(kFile, [](Surgery& surgery) {
        const auto arguments = surgery.graph().items(surgery.graph().arguments(surgery.at({"wide"})));
        const std::vector<NodeId> shape{surgery.builder().integer(8)};
        surgery.composer().substitute(arguments[2], surgery.builder().tuple(shape));
    });
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "storage-bloat");
    CHECK(found.finding.where.text() == kFile);
}

TEST_CASE("a frozen base that is many times what is trained, in every tag")
{
    CHECK(samplesWith("frozen-bloat").empty());
    const Patchable copy("zero2-w2");
    copy.operateOnAll("model_states.pt", [](Surgery& surgery) {
        constexpr uint64_t kRows = 4000;
        const auto base = [&] {
            return surgery.composer().smallTensor(
                DType::BFloat16, {kRows, 16}, std::string(kRows * 16 * 2, '\0'));
        };
        PickleBuilder& builder = surgery.builder();
        const std::vector<NodeId> shape{builder.integer(kRows), builder.integer(16)};
        surgery.set({"frozen_param_shapes", "positions.weight"}, builder.tuple(shape));
        surgery.set({"frozen_param_fragments", "positions.weight"}, base());
        surgery.set({"module", "positions.weight"}, base());
    });
    const CheckResult result = copy.check();
    REQUIRE(findingOf(result, "frozen-bloat") != nullptr);
    CHECK(textOf(*findingOf(result, "frozen-bloat")).find("2 tags") != std::string::npos);
    CHECK(findingOf(result, "frozen-bloat")->finding.severity == Severity::Info);
    CHECK(troubles(result).empty());
}

TEST_CASE("states in swap files are bound to the number of ranks")
{
    CHECK(samplesWith("world-bound-swap").empty());
    const Patchable copy("zero3-w4");
    swapOut(copy.tag(), {.subgroups = {0}});
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "world-bound-swap");
    CHECK(found.command == "reshard " + copy.run().string() + " DST --world-size 4");
}

TEST_CASE("stock DeepSpeed resumes states in swap files without the rest")
{
    CHECK(samplesWith("nvme-state-skew").empty());
    const Patchable copy("zero3-w4");
    swapOut(copy.tag(), {.subgroups = {0}});
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "nvme-state-skew");
    CHECK(found.finding.severity == Severity::Warning);
    CHECK(textOf(found).find("1 of ") != std::string::npos);
    CHECK(found.command == "reshard " + copy.run().string() + " DST --world-size 4");
    CHECK(troubles(result) == std::set<std::string>{"nvme-state-skew"});
}

TEST_CASE("padding before the last rank")
{
    CHECK(samplesWith("padding-strip-failure")
        == std::set<std::string>{"ds0144-zero3-w3:global_step7", "ds053-zero3-w3:global_step7",
            "zero3-elastic-w3:global_step3", "zero3-universal-w3:global_step3", "zero3-w4:global_step5"});
}

TEST_CASE("of very many parameters with padding all are counted, and the first thousand named")
{
    SyntheticOptions options;
    for (int i = 0; i < 1200; ++i) // 2 elements for each of 4 ranks
        options.shapes.emplace_back("short." + std::to_string(i), Shape{5});
    JobContext job;
    const OpenOptions open;
    const CheckContext context{io::realFileSystem(), job, {}, {}, open, CheckDepth::Metadata, {}, {}, {}, {},
        makeSyntheticCheckpoint(options), {}};
    const Diagnosis& diagnosis = diagnosisOf("padding-strip-failure");
    FindingSink sink(diagnosis);
    REQUIRE(diagnosis.look(context, sink));
    const std::vector<Finding> found = sink.take();
    REQUIRE(found.size() == 1);
    CHECK(found.front().message.starts_with("1200 parameters end "));
    CHECK(found.front().parts.size() == 1000);
    CHECK(found.front().evidence.size() == 4);
}

TEST_CASE("checkpoints that stock DeepSpeed saves and cannot load")
{
    CHECK(samplesWith("cannot-load-own-save")
        == std::set<std::string>{"ds0310-zero2-w2:global_step7", "ds045-zero2-w3:global_step7",
            "elastic-w3:global_step4", "stage0-pipeline-bf16-w4:global_step3"});

    const Patchable copy("zero3-w4");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) { // Adagrad's state
        for (const int group : {0, 1, 2})
            surgery.rename(
                {"optimizer_state_dict", "optimizer_state_dict", "state", group}, "exp_avg", "sum");
    });
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "cannot-load-own-save");
    CHECK(found.finding.severity == Severity::Info);
    CHECK(found.command == "reshard " + copy.run().string() + " DST --world-size 4");
}
