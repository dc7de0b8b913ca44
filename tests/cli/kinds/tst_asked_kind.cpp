// SPDX-License-Identifier: Apache-2.0
// --kind: a checkpoint as another kind than the detected one.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST_CASE("a checkpoint without optimizer files has the kind that its configuration says")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    for (const char* rank : {"0", "1"})
        REQUIRE(fs::remove(run / "global_step6"
            / (std::string("bf16_zero_pp_rank_") + rank + "_mp_rank_00_optim_states.pt")));
    const Json plain = answerOf({"inspect", run});
    const Json asked = answerOf({"inspect", run, "--kind", "zero2"});
    CHECK(plain.at("kind") == "zero2");
    CHECK(plain.at("findings") == asked.at("findings"));
    CHECK(plain.at("evidence") == asked.at("evidence"));
    for (const char* verb : {"inspect", "check", "params"})
        errorOf({verb, run, "--kind", "zero3"}, 2, "usage");
}

TEST_CASE("kinds with files of one form replace each other")
{
    const fs::path run = samplePath("zero2-w2");
    const Json first = answerOf({"inspect", run, "--kind", "zero1"});
    CHECK(first.at("kind") == "zero1");
    CHECK(first.at("evidence").dump().find("opened as ZeRO-1, as asked; its files say ZeRO-2")
        != std::string::npos);
    CHECK(answerOf({"params", run, "--kind", "bf16"}).at("parameters").size()
        == answerOf({"params", run}).at("parameters").size());
    CHECK(answerOf({"inspect", run, "--kind", "zero2"}).at("evidence")
        == answerOf({"inspect", run}).at("evidence"));
    for (const char* kind : {"zero3", "fp16", "torch"}) {
        CAPTURE(std::string(kind));
        const Json error = errorOf({"inspect", run, "--kind", kind}, 2, "usage");
        CHECK(error.at("message").get<std::string>().find("it is of kind `zero2`, not `") == 0);
        CHECK(error.at("hint") == "omit --kind");
    }
    for (const char* kind : {"universal", "weights", "dcp"}) {
        CAPTURE(std::string(kind));
        errorOf({"inspect", run, "--kind", kind}, 3, "not-a-checkpoint");
    }
    errorOf({"inspect", run, "--kind", "zero4"}, 2, "usage");
}

TEST_CASE("of several kinds in one folder one is chosen")
{
    const fs::path run = samplePath("zero2-universal-w2");
    CHECK(answerOf({"inspect", run}).at("kind") == "zero2");
    const Json universal = answerOf({"inspect", run, "--kind", "universal"});
    CHECK(universal.at("kind") == "universal");
    CHECK(universal.at("tag") == "global_step5_universal");
    errorOf({"inspect", run / "global_step5_universal", "--kind", "zero2"}, 2, "usage");
    // Weights next to a tag, at which a Trainer's checkpoint opens.
    const TemporaryFolder folder;
    const fs::path checkpoint = folder / "checkpoint-6";
    fs::copy(samplePath("zero2-w2"), checkpoint, fs::copy_options::recursive);
    answerOf({"export", samplePath("zero2-w2"), folder / "model.safetensors", "--format", "safetensors"});
    fs::copy(folder / "model.safetensors", checkpoint / "model.safetensors");
    for (const fs::path& path : {checkpoint, checkpoint / "model.safetensors"}) {
        CHECK(answerOf({"inspect", path}).at("kind") == "zero2");
        CHECK(answerOf({"inspect", path, "--kind", "weights"}).at("kind") == "weights");
    }
    CHECK(answerOf({"diff", checkpoint, folder / "model.safetensors", "--kind", "weights"}).at("equal")
        == true);
}

TEST_CASE("a saved plan opens its source as the asked kind again")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-universal-w2", folder);
    answerOf(
        {"plan", "reshard", run, folder / "out", "-w", "3", "--kind", "zero1", "-o", folder / "plan.json"});
    CHECK(Json::parse(slurp(folder / "plan.json")).at("kind") == "zero1");
    answerOf({"run", folder / "plan.json"});
    CHECK(answerOf({"diff", run, folder / "out"}).at("equal") == true);
    // Without the option there is no field.
    answerOf({"plan", "reshard", run, folder / "out2", "-w", "3", "-o", folder / "plan2.json"});
    CHECK(!Json::parse(slurp(folder / "plan2.json")).contains("kind"));
}
