// SPDX-License-Identifier: Apache-2.0
// What prevents loading at a target: another number of ranks, another ZeRO stage.
#include "tests/support/damages.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace shardscope;
using namespace shardscope::test;
using Codes = std::set<std::string>;

namespace {

Codes troublesFor(const std::string& sample, const std::string& target)
{
    return troubles(Patchable(sample).check(CheckDepth::Metadata, target));
}

} // namespace

TEST_CASE("another number of ranks prevents loading of ZeRO's shards only")
{
    const Codes kMismatch{"world-size-mismatch"};
    for (const char* sample : {"zero1-w2", "bf16opt-w2", "zero3-w4", "elastic-w3", "slices-w4"}) {
        CAPTURE(sample);
        CHECK(troublesFor(sample, "world-size=6") == kMismatch);
    }
    CHECK(troublesFor("zero1-w2", "world-size=2").empty());
    CHECK(troublesFor("slices-w4", "world-size=4").empty()); // two slices of two ranks each
    CHECK(troublesFor("stage0-fp16", "world-size=6").empty()); // whole on every rank
    CHECK(troublesFor("zero2-universal-w2:global_step5_universal", "world-size=6").empty());
    CHECK(troublesFor("zero1-w2", "").empty());

    const Patchable copy("zero3-w4");
    const CheckResult result = copy.check(CheckDepth::Metadata, "world-size=6");
    const DoctorFinding& found = requireFinding(result, "world-size-mismatch");
    CHECK(found.finding.message == "it was saved by 4 ranks, and the target has 6");
    CHECK(found.command == "reshard " + copy.run().string() + " DST --world-size 6");
}

TEST_CASE("a stage that needs other files is reported, with the command that writes them")
{
    const Codes kMismatch{"stage-mismatch"};
    for (const char* target : {"stage=0", "stage=3"}) {
        CAPTURE(target);
        CHECK(troublesFor("zero1-w2", target) == kMismatch);
        CHECK(troublesFor("zero2-w2", target) == kMismatch);
    }
    CHECK(troublesFor("zero1-w2", "stage=2").empty()); // they read each other's
    CHECK(troublesFor("zero2-w2", "stage=1").empty());
    CHECK(troublesFor("bf16opt-w2", "stage=1").empty());
    CHECK(troublesFor("bf16opt-w2", "stage=0").empty());
    CHECK(troublesFor("zero3-w4", "stage=3").empty());
    CHECK(troublesFor("zero3-w4", "stage=2") == kMismatch);
    CHECK(troublesFor("stage0-fp32", "stage=0").empty());
    CHECK(troublesFor("stage0-fp32", "stage=2") == kMismatch);
    CHECK(troublesFor("zero3-universal-w3:global_step3_universal", "stage=1").empty());

    const Patchable copy("zero2-w2");
    const CheckResult result = copy.check(CheckDepth::Metadata, "stage=3");
    const DoctorFinding& found = requireFinding(result, "stage-mismatch");
    CHECK(found.command == "reshard " + copy.run().string() + " DST --world-size 2 --stage 3");
}

TEST_CASE("a universal folder with different groups loses options in stage 3, and reports it for stage 3")
{
    const char* kFolder = "zero3-universal-w3:global_step3_universal";
    CHECK(troublesFor(kFolder, "stage=3") == Codes{"group-collapse"});
    CHECK(troublesFor(kFolder, "stage=2").empty());
    CHECK(troublesFor("zero3-universal-w3:global_step3", "stage=3").empty()); // its own files keep them

    const Patchable copy("zero3-universal-w3", "global_step3_universal");
    const CheckResult checked = copy.check();
    const DoctorFinding& note = requireFinding(checked, "group-collapse");
    CHECK(note.finding.severity == Severity::Info);
    CHECK(textOf(note).find("weight_decay") != std::string::npos);
}

TEST_CASE("options in tensors are written as short as their type allows")
{
    const Patchable copy("zero3-universal-w3", "global_step3_universal");
    copy.operate("zero/optimizer_state.pt", [](Surgery& surgery) {
        const Way groups{"optimizer_state_dict", "param_groups"};
        const auto setRate = [&](int group, DType dtype, auto rate) {
            std::string bytes(sizeof rate, '\0');
            std::memcpy(bytes.data(), &rate, sizeof rate);
            Way way = groups;
            way.insert(way.end(), {group, "lr"});
            surgery.set(way, surgery.composer().smallTensor(dtype, {}, std::move(bytes)));
        };
        setRate(0, DType::Float32, 3e-4F);
        setRate(1, DType::Float32, 1e-4F);
        setRate(2, DType::Float64, 1e-4);
    });
    const CheckResult checked = copy.check();
    const std::string text = textOf(requireFinding(checked, "group-collapse"));
    CAPTURE(text);
    CHECK(text.find("group 1 has lr 0.0001, group 0 has 0.0003") != std::string::npos);
    CHECK(text.find("group 2 has lr 0.0001, group 0 has 0.0003") != std::string::npos);
}
