// SPDX-License-Identifier: Apache-2.0
// The launch scripts of the manual and of `ensure --help`, in several shells, after mistakes and failures.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <functional>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kShard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

/// The shell scripts of the manual, and the line of `ensure --help`, that start a training from its answer.
std::vector<std::string> launchScripts()
{
    std::vector<std::string> out;
    const std::string page = slurp(sourceFolder() + "/resources/manual/scripting.md");
    for (size_t at = page.find("```sh\n"); at != std::string::npos; at = page.find("```sh\n", at + 1)) {
        const size_t begin = at + 6;
        const std::string block = page.substr(begin, page.find("```", begin) - begin);
        if (block.find("shardscope ensure") != std::string::npos)
            out.push_back(block);
    }
    std::string help = runShardscope({"ensure", "--help"}, {.environment = {{"COLUMNS", "200"}}}).out;
    const size_t line = help.find("RUN=$(");
    REQUIRE(line != std::string::npos);
    out.push_back(help.substr(line, help.find('\n', line) - line));
    return out;
}

/// Programs that a launch script starts: each writes its words into a file.
std::string stubs(const TemporaryFolder& folder)
{
    const fs::path bin = folder / "bin";
    fs::create_directories(bin);
    fs::create_symlink(programPath(), bin / "shardscope");
    const auto script = [&](const char* name, const std::string& text) {
        spill(bin / name, "#!/bin/sh\n" + text + "\n");
        fs::permissions(bin / name, fs::perms::owner_all);
    };
    script("deepspeed", "echo \"$@\" >> \"$STARTED\"");
    script("python", "echo \"$@\" >> \"$STARTED\"");
    script("srun", "exec \"$@\"");
    script("scontrol", "exit 0");
    return bin.string();
}

struct Case {
    const char* name;
    std::function<void(const fs::path& home)> prepare;
    int status; ///< of `ensure`
    std::string resumes; ///< what the training resumes from, below the folder
};

std::vector<Case> cases()
{
    const auto copyRun = [](const fs::path& home) {
        fs::copy(samplePath("zero2-w2"), home / "runs/llama", fs::copy_options::recursive);
    };
    return {
        {"fits", copyRun, 0, "runs/llama"},
        {"no such folder", [](const fs::path& home) { fs::create_directories(home / "runs/lama"); }, 3, ""},
        {"a file", [](const fs::path& home) { spill(home / "runs/llama", ""); }, 3, ""},
        {"no tag yet", [](const fs::path& home) { fs::create_directories(home / "runs/llama"); }, 1, ""},
        {"damaged newest tag",
            [copyRun](const fs::path& home) {
                copyRun(home);
                fs::remove(home / "runs/llama/global_step6" / kShard);
            },
            0, "runs/llama-w2"},
        {"no complete tag",
            [copyRun](const fs::path& home) {
                copyRun(home);
                for (const char* tag : {"global_step3", "global_step6"})
                    fs::remove(home / "runs/llama" / tag / kShard);
            },
            6, ""},
        {"something in the way",
            [copyRun](const fs::path& home) {
                copyRun(home);
                fs::remove(home / "runs/llama/global_step6" / kShard);
                fs::create_directories(home / "runs/llama-w2/global_step3");
            },
            5, ""},
    };
}

void checkScript(const std::string& script, const Words& shell, const Case& each)
{
    const bool startsFirst = script.find("nothing was saved yet") != std::string::npos;
    const TemporaryFolder folder;
    const std::string bin = stubs(folder);
    const fs::path home = folder / "home";
    fs::create_directories(home / "runs");
    each.prepare(home);
    Words words = shell;
    words.emplace_back("-c");
    words.push_back("cd '" + home.string() + "'\n" + script);
    const std::string started = folder / "started";
    const ProcessResult result = runProcess(words,
        {.environment = {{"PATH", bin + ":/usr/bin:/bin"}, {"STARTED", started}, {"SLURM_NTASKS", "2"},
             {"SLURM_JOB_ID", "7"}}});
    const std::string text = fs::exists(started) ? slurp(started) : std::string();
    CAPTURE(script);
    CAPTURE(shell.back());
    CAPTURE(each.name);
    CAPTURE(result.err);
    // The script that makes the folder itself cannot tell a misspelt one before the first save.
    const bool isMade = startsFirst && std::string(each.name) == "no such folder";
    const int status = isMade ? 1 : each.status;
    if (!each.resumes.empty()) {
        CHECK(text.find(each.resumes + "\n") != std::string::npos);
        CHECK(result.exitCode == 0);
    } else if (startsFirst && status == 1) {
        CHECK(text == "train.py\n");
    } else {
        CHECK(text.empty());
        CHECK(result.exitCode != 0);
    }
}

} // namespace

TEST_CASE("a launch script never starts a training from nothing by mistake")
{
    const std::vector<std::string> scripts = launchScripts();
    CHECK(scripts.size() == 4);
    for (const std::string& script : scripts) {
        for (const Words& shell : {Words{"/bin/sh"}, {"/bin/sh", "-e"}, {"/bin/bash", "-euo", "pipefail"}}) {
            for (const Case& each : cases())
                checkScript(script, shell, each);
        }
    }
}
