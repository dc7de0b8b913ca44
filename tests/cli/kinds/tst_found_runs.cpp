// SPDX-License-Identifier: Apache-2.0
// Folders around checkpoints: what lies below is named, and of several models none is chosen silently.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

fs::path addRun(const fs::path& to, const std::string& sample = "stage0-fp32")
{
    fs::create_directories(to.parent_path());
    fs::copy(samplePath(sample), to, fs::copy_options::recursive);
    return to;
}

/// Two models that Accelerate saved into one folder.
fs::path addModels(const fs::path& to)
{
    fs::create_directories(to);
    const fs::path sample = samplePath("stage0-fp32");
    const std::string tag = slurp(sample / "latest");
    for (const char* model : {"pytorch_model", "pytorch_model_1"})
        fs::copy(sample / tag, to / model, fs::copy_options::recursive);
    spill(to / "random_states_0.pkl", "");
    spill(to / "latest", "pytorch_model_1");
    return to;
}

} // namespace

TEST_CASE("a folder of runs names those below it")
{
    const TemporaryFolder folder;
    const fs::path base = fs::canonical(folder.path()) / "all";
    addRun(base / "rlhf/ckpt/_actor");
    addRun(base / "rlhf/ckpt/_critic");
    addRun(base / "b");
    fs::remove(addRun(base / "bare") / "latest"); // files of one tag, without a pointer
    fs::create_directories(base / "logs/empty");
    spill(base / "notes.txt", "notes");
    fs::create_directory_symlink(base, base / "logs/loop");
    const Json expected{(base / "b").string(), (base / "bare").string(), (base / "rlhf/ckpt/_actor").string(),
        (base / "rlhf/ckpt/_critic").string()};
    for (const char* verb : {"inspect", "params", "check", "verify", "files"}) {
        CAPTURE(std::string(verb));
        const Json error = errorOf({verb, base}, 3, "not-a-checkpoint");
        CHECK(error.at("runs") == expected);
        CHECK(error.at("message").get<std::string>().find(
                  "4 runs are below it: `b`, `bare`, `rlhf/ckpt/_actor`")
            != std::string::npos);
        CHECK(error.at("hint") == "give one of them");
        CHECK(error.at("command") == "shardscope tags " + base.string());
    }
    errorOf({"tags", base, "--newest-complete"}, 3, "not-a-checkpoint"); // it is asked of one run
    CHECK(errorOf({"inspect", base / "rlhf"}, 3, "not-a-checkpoint").at("runs").size() == 2);
    CHECK(
        errorOf({"reshard", base, folder / "out", "-w", "2"}, 3, "not-a-checkpoint").at("runs") == expected);
    CHECK(answerOf({"inspect", base / "rlhf/ckpt/_actor"}).at("tag") == "global_step4");
    const Json none = errorOf({"inspect", base / "logs"}, 3, "not-a-checkpoint");
    CHECK(!none.contains("runs"));
    CHECK(none.at("message") == "nothing in this folder was written by DeepSpeed");
}

TEST_CASE("the search for runs is bounded")
{
    const TemporaryFolder folder;
    addRun(folder / "a/b/c/d/e/run");
    const Json deep = errorOf({"inspect", folder.path()}, 3, "not-a-checkpoint");
    CHECK(!deep.contains("runs"));
    CHECK(deep.at("message") == "no checkpoint was found in the first folders below this one");
    CHECK(errorOf({"inspect", folder / "a/b"}, 3, "not-a-checkpoint").at("runs").size() == 1);
}

TEST_CASE("of two models in one folder of Accelerate, none is chosen silently")
{
    const TemporaryFolder folder;
    const fs::path run = addModels(fs::canonical(folder.path()) / "state");
    const Json expected{(run / "pytorch_model").string(), (run / "pytorch_model_1").string()};
    for (const char* verb : {"inspect", "params", "check", "verify"}) {
        CAPTURE(std::string(verb));
        const Json error = errorOf({verb, run}, 3, "not-found");
        CHECK(error.at("runs") == expected);
        CHECK(error.at("message")
            == "Accelerate saved 2 models in this folder: `pytorch_model`, `pytorch_model_1`");
    }
    CHECK(errorOf({"export", run, folder / "out"}, 3, "not-found").at("runs") == expected);
    CHECK(answerOf({"inspect", run, "--tag", "pytorch_model"}).at("tag") == "pytorch_model");
    CHECK(answerOf({"inspect", run / "pytorch_model_1"}).at("tag") == "pytorch_model_1");
    fs::remove_all(run / "pytorch_model_1");
    spill(run / "latest", "pytorch_model");
    CHECK(answerOf({"inspect", run}).at("tag") == "pytorch_model"); // one model is no question
}

TEST_CASE("the pointer file of MMEngine names the tag")
{
    const TemporaryFolder folder;
    const fs::path run = addRun(folder / "work_dir");
    const std::string tag = slurp(run / "latest");
    fs::remove(run / "latest");
    fs::copy(run / tag, run / "iter_500.pth", fs::copy_options::recursive);
    fs::rename(run / tag, run / "iter_1000.pth");
    spill(run / "last_checkpoint", "/moved/from/work_dir/iter_1000.pth");
    const Json answer = answerOf({"inspect", run});
    CHECK(answer.at("tag") == "iter_1000.pth");
    const Json& findings = answer.at("findings");
    CHECK(std::none_of(findings.begin(), findings.end(),
        [](const Json& finding) { return finding.at("code") == "latest-missing"; }));
    spill(run / "last_checkpoint", "/moved/from/work_dir/iter_2000.pth");
    const Json without = answerOf({"inspect", run}).at("findings");
    CHECK(std::any_of(without.begin(), without.end(),
        [](const Json& finding) { return finding.at("code") == "latest-missing"; }));
}

TEST_CASE("a target next to a folder of bare files is not inside the source")
{
    const TemporaryFolder folder;
    const fs::path run = addRun(folder / "flat", "zero1-w2");
    fs::rename(run / slurp(run / "latest"), run / "ckpt");
    fs::remove(run / "latest");
    const auto before = contentOf(run / "ckpt");
    CHECK(answerOf({"reshard", run / "ckpt", run / "out", "-w", "1"}).at("result").at("verified") == true);
    CHECK(contentOf(run / "ckpt") == before);
    // The folder that contains the source would get a tag of the same name.
    errorOf({"reshard", run / "ckpt", run, "-w", "1"}, 2, "usage");
    errorOf({"reshard", run / "ckpt", run / "ckpt/out", "-w", "1"}, 2, "usage");
    // A run folder with a pointer stays out of bounds.
    const fs::path whole = copySample("zero1-w2", folder);
    errorOf({"reshard", whole, whole / "out", "-w", "1"}, 2, "usage");
    errorOf({"reshard", whole / slurp(whole / "latest"), whole / "out", "-w", "1"}, 2, "usage");
}

TEST_CASE("a Git LFS pointer in place of a rank's file is one finding, and is not refilled")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const std::string name = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    const fs::path file = run / slurp(run / "latest") / name;
    for (const char* text : {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 260000\n",
             "<!DOCTYPE html><html></html>"}) {
        CAPTURE(std::string(text));
        spill(file, text);
        Json wrong = Json::array();
        const Json checked = answerOf({"check", run}, 1);
        for (const Json& finding : checked.at("results").at(0).at("findings")) {
            if (finding.at("severity") != "info")
                wrong.push_back(finding);
        }
        REQUIRE(wrong.size() == 1);
        CHECK(wrong[0].at("code") == "foreign-file");
        CHECK(wrong[0].at("where") == name);
        CHECK(wrong[0].at("fix").is_null());
        for (const char* fix : {"all", "file-torn", "foreign-file"})
            CHECK(runShardscope({"repair", run, folder / "out", "--fix", fix}).exitCode != 0);
        CHECK(!fs::exists(folder / "out"));
    }
}
