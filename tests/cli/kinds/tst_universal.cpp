// SPDX-License-Identifier: Apache-2.0
// Every verb on universal folders of DeepSpeed's own converter, at every level of PATH.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

struct Converted {
    const char* sample;
    const char* native;
    const char* universal;
};
constexpr Converted kConverted[] = {{"zero2-universal-w2", "global_step5", "global_step5_universal"},
    {"zero3-universal-w3", "global_step3", "global_step3_universal"}};

} // namespace

TEST_CASE("every verb reads a universal folder")
{
    for (const Converted& one : kConverted) {
        CAPTURE(std::string(one.sample));
        const fs::path path = samplePath(one.sample) / one.universal;
        const Json inspected = answerOf({"inspect", path});
        CHECK(inspected.at("kind") == "universal");
        CHECK(inspected.at("supported") == true);
        CHECK(inspected.at("complete") == true);
        const Json native = answerOf({"params", samplePath(one.sample)});
        const Json params = answerOf({"params", path});
        CHECK(params.at("parameters").size() == native.at("parameters").size());
        const Json files = answerOf({"files", path, "--records"});
        CHECK(files.at("files").size() > 60);
        answerOf({"layout", path});
        const Json layout = answerOf({"layout", path, "--param", "norm.bias"});
        REQUIRE(layout.at("fragments").size() >= 3);
        CHECK(layout.at("fragments")[0].at("file") == "zero/norm.bias/fp32.pt");
        const Json here = answerOf({"show", path, "tok_embeddings.weight#exp_avg_sq"});
        const Json there = answerOf({"show", samplePath(one.sample), "tok_embeddings.weight#exp_avg_sq"});
        CHECK(here.at("values") == there.at("values"));
    }
}

TEST_CASE("a universal folder holds the training state of the checkpoint it was made from")
{
    for (const Converted& one : kConverted) {
        CAPTURE(std::string(one.sample));
        const fs::path run = samplePath(one.sample);
        const Json verified = answerOf({"verify", run / one.universal, "--against", run});
        CHECK(verified.at("problems").empty());
        CHECK(verified.at("fingerprint") == answerOf({"verify", run}).at("fingerprint"));
    }
}

TEST_CASE("a comparison shows a changed element and its position")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-universal-w3", folder);
    const fs::path file = run / "global_step3_universal/zero/norm.bias/exp_avg.pt";
    std::string bytes = slurp(file);
    bytes[704] ^= 1; // `layout` shows that its tensor begins here
    spill(file, bytes);
    const Json verified = answerOf({"verify", run / "global_step3_universal", "--against", run}, 1);
    CHECK(verified.dump().find("norm.bias") != std::string::npos);
}

TEST_CASE("a universal folder is found at every level, and next to native tags")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-universal-w2", folder);
    const std::string name = "global_step5_universal";
    const auto kindOf = [](const fs::path& path) { return answerOf({"inspect", path}).at("kind"); };
    CHECK(kindOf(run) == "zero2"); // `latest` is preferred
    CHECK(answerOf({"inspect", run}).at("tags") == Json({"global_step5", name}));
    CHECK(answerOf({"inspect", run, "--tag", name}).at("kind") == "universal");
    CHECK(kindOf(run / "latest_universal") == "universal");
    for (const char* inside : {"", "zero", "zero/norm.bias", "zero/norm.bias/step.pt",
             "zero/optimizer_state.pt", "mp_rank_00_model_states.pt"}) {
        CAPTURE(std::string(inside));
        const Json answer = answerOf({"inspect", run / name / inside});
        CHECK(answer.at("kind") == "universal");
        CHECK(answer.at("tag") == name);
        CHECK(answer.contains("selected") == std::string(inside).ends_with(".pt"));
    }
    fs::remove(run / "latest");
    CHECK(kindOf(run) == "universal");
    spill(run / "latest_universal", "elsewhere\n");
    const Json dangling = answerOf({"inspect", run});
    CHECK(dangling.dump().find("latest-dangling") != std::string::npos);
    errorOf({"params", run}, 3, "not-found");

    fs::rename(run / name, folder / "alone"); // with only the model file it is not a native tag
    CHECK(kindOf(folder / "alone") == "universal");
    spill(folder / "alone/latest_universal", "");
    CHECK(kindOf(folder / "alone") == "universal");
    CHECK(kindOf(folder / "alone/latest_universal") == "universal");
}

TEST_CASE("a native tag may be called zero")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::rename(run / "global_step6", run / "zero");
    fs::remove(run / "latest");
    CHECK(answerOf({"inspect", run, "--tag", "zero"}).at("kind") == "zero2");
    CHECK(answerOf({"inspect", run / "zero"}).at("kind") == "zero2");
}

TEST_CASE("a universal folder becomes native in the stage that is named")
{
    const TemporaryFolder folder;
    const fs::path path = samplePath("zero2-universal-w2") / "global_step5_universal";
    CHECK(answerOf({"reshard", path, folder / "out", "-w", "2", "-n"}).at("plan").at("kind") == "zero2");
    CHECK(!fs::exists(folder / "out"));
    const Json answer = answerOf({"reshard", path, folder / "out", "-w", "2", "--stage", "3"});
    CHECK(answer.at("plan").at("kind") == "zero3");
    CHECK(fs::exists(folder / "out/global_step5/zero_pp_rank_1_mp_rank_00_model_states.pt"));
    CHECK(answerOf({"verify", folder / "out", "--against", path}).at("ok") == true);
}

TEST_CASE("convert writes one universal folder and its pointer")
{
    const TemporaryFolder folder;
    const Json answer = answerOf({"convert", samplePath("zero2-w2"), folder / "u", "--to", "universal"});
    CHECK(answer.at("plan").at("kind") == "universal");
    CHECK(answer.at("plan").at("world_size").is_null());
    CHECK(fs::exists(folder / "u/latest_universal"));
    CHECK(!fs::exists(folder / "u/latest"));
    CHECK(answerOf({"verify", folder / "u", "--against", samplePath("zero2-w2")}).at("ok") == true);
    // The suffix is added only once.
    answerOf({"convert", folder / "u", folder / "again", "--to", "universal"});
    CHECK(fs::exists(folder / "again/global_step6_universal"));
    errorOf({"convert", samplePath("zero2-w2"), folder / "x", "--to", "gguf"}, 2, "usage");
    errorOf({"convert", samplePath("zero2-w2"), folder / "x"}, 2, "usage");
    CHECK(!fs::exists(folder / "x"));
    const Json dry = answerOf({"convert", samplePath("zero2-w2"), folder / "x", "--to", "universal", "-n"});
    CHECK(dry.at("plan").at("files") == answer.at("plan").at("files"));
    CHECK(!fs::exists(folder / "x"));
}
