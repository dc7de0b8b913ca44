// SPDX-License-Identifier: Apache-2.0
// What is true of healthy files and still good to know: notes, which say it where it is so and nowhere else.
#include "tests/support/wounds.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Samples ("NAME:TAG") in which a finding of this code is.
std::set<std::string> samplesWith(std::string_view code)
{
    std::set<std::string> out;
    for (const std::string& sample : allSamples()) {
        const size_t colon = sample.find(':');
        const CheckResult result = Patchable(sample.substr(0, colon), sample.substr(colon + 1)).check();
        if (findingOf(result, code) != nullptr)
            out.insert(sample);
    }
    return out;
}

} // namespace

TEST_CASE("no universal_checkpoint_info, where the stock converter asks for it")
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
    const DoctorFinding* found = findingOf(result, "universal-info-missing");
    REQUIRE(found != nullptr);
    CHECK(textOf(*found).find("--patterns") != std::string::npos);
    CHECK(found->command == "convert " + copy.run().string() + " DST --to universal");
}

TEST_CASE("states of other optimizers than Adam")
{
    CHECK(samplesWith("unknown-optimizer-keys") == std::set<std::string>{"muon-w3:global_step3"});
}

TEST_CASE("padding before the last rank")
{
    CHECK(samplesWith("padding-strip-failure")
        == std::set<std::string>{"ds0144-zero3-w3:global_step7", "ds053-zero3-w3:global_step7",
            "zero3-elastic-w3:global_step3", "zero3-universal-w3:global_step3", "zero3-w4:global_step5"});
}

TEST_CASE("what stock DeepSpeed saves and cannot load")
{
    CHECK(samplesWith("cannot-load-own-save")
        == std::set<std::string>{
            "ds0310-zero2-w2:global_step7", "ds045-zero2-w3:global_step7", "elastic-w3:global_step4"});

    const Patchable copy("zero3-w4");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) { // Adagrad's state
        for (const int group : {0, 1, 2})
            surgery.rename(
                {"optimizer_state_dict", "optimizer_state_dict", "state", group}, "exp_avg", "sum");
    });
    const CheckResult result = copy.check();
    const DoctorFinding* found = findingOf(result, "cannot-load-own-save");
    REQUIRE(found != nullptr);
    CHECK(found->finding.severity == Severity::Info);
    CHECK(found->command == "reshard " + copy.run().string() + " DST --world-size 4");
}
