// SPDX-License-Identifier: Apache-2.0
// Parts of the model that are listed but missing, or stored twice with different values.
#include "tests/support/damages.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
using Codes = std::set<std::string>;
namespace fs = std::filesystem;

TEST_CASE("frozen parameters without fragments")
{
    const Patchable copy("zero3-w4");
    copy.operateOnAll("model_states.pt",
        [](Surgery& surgery) { surgery.remove({"frozen_param_fragments"}, "positions.weight"); });
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "frozen-lost");
    CHECK(found.finding.where.text() == "positions.weight#weight");
    CHECK(troubles(result) == Codes{"frozen-lost"});
}

TEST_CASE("buffers that are listed but missing")
{
    const Patchable copy("zero2-w2");
    copy.operateOnAll(
        "model_states.pt", [](Surgery& surgery) { surgery.remove({"module"}, "inverse_frequency"); });
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"buffers-lost"});
    REQUIRE(findingOf(result, "buffers-lost") != nullptr);
    CHECK(findingOf(result, "buffers-lost")->finding.where.text() == "inverse_frequency#weight");
}

TEST_CASE("tied parameters with different copies")
{
    const Patchable copy("zero2-w2");
    copy.operateOnAll("model_states.pt", [](Surgery& surgery) {
        surgery.editTensor({"module", "lm_head.weight"}, [](std::string&) {}); // an equal copy of its own
    });
    CHECK(troubles(copy.check()).empty());
    copy.operateOnAll("model_states.pt", [](Surgery& surgery) {
        surgery.editTensor({"module", "lm_head.weight"}, [](std::string& elements) { elements[9] ^= 1; });
    });
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"tied-diverged"});
    REQUIRE(findingOf(result, "tied-diverged") != nullptr);
    CHECK(findingOf(result, "tied-diverged")->finding.where.text() == "lm_head.weight#weight");
}

TEST_CASE("a module of another model than the optimizer's")
{
    const Patchable copy("zero3-w4");
    copy.operateOnAll("model_states.pt", [](Surgery& surgery) {
        surgery.rename({"module"}, "layers.1.mlp.up.weight", "layers.1.mlp.gate.weight");
    });
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "model-changed");
    CHECK(found.finding.where.text() == "layers.1.mlp.up.weight#fp32");
    // The replacement is reported too.
    CHECK(troubles(result) == Codes{"alias-unrecorded", "model-changed"});
}

TEST_CASE("numbers of ranks that the files contradict")
{
    for (const char* sample : {"zero2-w2", "zero3-w4"}) {
        CAPTURE(sample);
        for (const char* key : {"dp_world_size", "mp_world_size"}) {
            const std::string field = key;
            CAPTURE(field);
            for (const int64_t value : {0, 3}) {
                CAPTURE(value);
                const Patchable copy(sample);
                copy.operateOnAll("model_states.pt", [&](Surgery& surgery) { surgery.set({key}, value); });
                const CheckResult result = copy.check();
                const Codes codes = troubles(result);
                CAPTURE(codes);
                const DoctorFinding& found = requireFinding(result, "bad-world-size-field");
                CHECK(textOf(found).find("`" + std::string(key) + "` is " + std::to_string(value))
                    != std::string::npos);
                if (value == 0) // otherwise files of more ranks are expected as well
                    CHECK(troubles(result) == Codes{"bad-world-size-field"});
            }
        }
    }
}

TEST_CASE("experts without files, and files without experts")
{
    {
        const Patchable copy("experts-w4");
        fs::remove(copy.tag() / "layer_0_expert_2_mp_rank_00_model_states.pt");
        const CheckResult result = copy.check();
        const DoctorFinding& found = requireFinding(result, "moe-incomplete");
        CHECK(found.finding.where.text() == "layer_0_expert_2_mp_rank_00_model_states.pt");
        CHECK(troubles(result) == Codes{"model-states-missing", "moe-incomplete"});
    }
    const Patchable copy("ds0192-experts-w4");
    fs::copy_file(copy.tag() / "layer_1_expert_1_mp_rank_00_model_states.pt",
        copy.tag() / "layer_1_expert_2_mp_rank_00_model_states.pt");
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "moe-incomplete");
    CHECK(found.finding.severity == Severity::Warning);
    CHECK(found.finding.where.text() == "layer_1_expert_2_mp_rank_00_model_states.pt");
}

TEST_CASE("optimizer files of expert-parallel ranks, if the release wrote them")
{
    const Patchable copy("ds0192-experts-w4");
    fs::remove(copy.tag() / "expp_rank_1_mp_rank_00_optim_states.pt");
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"moe-incomplete"});
    REQUIRE(findingOf(result, "moe-incomplete") != nullptr);
    CHECK(findingOf(result, "moe-incomplete")->finding.where.text()
        == "expp_rank_1_mp_rank_00_optim_states.pt");
}

TEST_CASE("random states of fewer ranks than trained, or than are to train")
{
    const Patchable copy("zero3-w4");
    spill(copy.run() / "trainer_state.json", R"({"global_step": 5})");
    CHECK(troubles(copy.check()).empty()); // none were saved
    for (const int rank : {0, 1, 2, 3})
        spill(copy.run() / ("rng_state_" + std::to_string(rank) + ".pth"), "states");
    CHECK(!troubles(copy.check()).contains("rng-gap"));
    CHECK(troubles(copy.check(CheckDepth::Metadata, "world-size=8")).contains("rng-gap"));
    fs::remove(copy.run() / "rng_state_2.pth");
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"rng-gap"});
    REQUIRE(findingOf(result, "rng-gap") != nullptr);
    CHECK(findingOf(result, "rng-gap")->finding.where.text() == "../rng_state_2.pth");

    spill(copy.tag() / "shardscope.json", "{}"); // written by this program, which reported it then
    CHECK(!troubles(copy.check()).contains("rng-gap"));
    const Patchable universal("zero2-universal-w2", "global_step5_universal");
    spill(universal.run() / "trainer_state.json", R"({"global_step": 5})");
    for (const int rank : {0, 1})
        spill(universal.run() / ("rng_state_" + std::to_string(rank) + ".pth"), "states");
    CHECK(troubles(universal.check()).empty());
    CHECK(troubles(universal.check(CheckDepth::Metadata, "world-size=2")).empty());
    CHECK(troubles(universal.check(CheckDepth::Metadata, "world-size=3")) == Codes{"rng-gap"});
}
