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
    for (const char* verb : {"inspect", "params"})
        errorOf({verb, run, "--kind", "zero3"}, 3, "not-a-checkpoint");
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
        const Json error = errorOf({"inspect", run, "--kind", kind}, 3, "not-a-checkpoint");
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
    errorOf({"inspect", run / "global_step5_universal", "--kind", "zero2"}, 3, "not-a-checkpoint");
    // A tag, or a file in it, is not another tag of its run.
    const fs::path native = run / "global_step5";
    for (const fs::path& path : {native, native / "mp_rank_00_model_states.pt"})
        errorOf({"inspect", path, "--kind", "universal"}, 3, "not-a-checkpoint");
    CHECK(answerOf({"inspect", run / "latest", "--kind", "universal"}).at("kind") == "universal");
    errorOf({"inspect", native / "mp_rank_00_model_states.pt", "--kind", "weights"}, 3, "not-a-checkpoint");
    // Weights next to a tag, at which a Trainer's checkpoint opens.
    const TemporaryFolder folder;
    const fs::path checkpoint = folder / "checkpoint-6";
    fs::copy(samplePath("zero2-w2"), checkpoint, fs::copy_options::recursive);
    answerOf({"export", samplePath("zero2-w2"), folder / "out", "--format", "safetensors"});
    const fs::path weights = folder / "out/model.safetensors";
    fs::copy(weights, checkpoint / "model.safetensors");
    CHECK(answerOf({"inspect", checkpoint}).at("kind") == "zero2");
    for (const fs::path& path : {checkpoint, checkpoint / "model.safetensors"})
        CHECK(answerOf({"inspect", path, "--kind", "weights"}).at("kind") == "weights");
    CHECK(answerOf({"inspect", folder.path(), "--kind", "weights", "--tag", "checkpoint-6"}).at("kind")
        == "weights");
    errorOf({"inspect", checkpoint, "--kind", "weights", "--tag", "nothing"}, 3, "not-found");
    CHECK(answerOf({"diff", checkpoint, weights, "--kind", "weights"}).at("equal") == true);
}

TEST_CASE("a saved plan opens its source as the asked kind again")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-universal-w2", folder);
    answerOf(
        {"plan", "reshard", run, folder / "out", "-w", "3", "--kind", "zero1", "-o", folder / "plan.json"});
    CHECK(Json::parse(slurp(folder / "plan.json")).at("kind") == "zero1");
    answerOf({"run", folder / "plan.json"});
    // It was written as that kind, not as what the files of the source say.
    CHECK(answerOf({"inspect", folder / "out"}).at("kind") == "zero1");
    answerOf({"check", folder / "out"}); // finds no error
    CHECK(answerOf({"diff", run, folder / "out"}).at("equal") == true);
    errorOf({"repair", folder / "out", folder / "undone", "--undo", "all", "--kind", "zero1"}, 2,
        "usage"); // no effect
    // Without the option there is no field.
    answerOf({"plan", "reshard", run, folder / "out2", "-w", "3", "-o", folder / "plan2.json"});
    CHECK(!Json::parse(slurp(folder / "plan2.json")).contains("kind"));
}

TEST_CASE("a path of another kind does not end the check of the others")
{
    const Json answer
        = answerOf({"check", samplePath("zero3-w4"), samplePath("zero2-w2"), "--kind", "zero2"}, 3);
    REQUIRE(answer.at("results").size() == 2);
    CHECK(answer.at("results")[1].at("tag") == "global_step6");
}
