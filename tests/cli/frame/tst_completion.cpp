// SPDX-License-Identifier: Apache-2.0
// The completion scripts in the shells they are for.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kBash = "/bin/bash";

/// The completions of bash for the last word.
Words offeredByBash(const TemporaryFolder& folder, const Words& words)
{
    std::string script = "source '" + (folder / "completion").string() + "'\ncd '" + folder.path().string()
        + "'\ncompopt() { :; }\nCOMP_WORDS=(shardscope";
    for (const std::string& word : words)
        script += " '" + word + "'";
    script += ")\nCOMP_CWORD=" + std::to_string(words.size())
        + "\n_shardscope\n(( ${#COMPREPLY[@]} )) && printf '%s\\n' \"${COMPREPLY[@]}\"\ntrue\n";
    spill(folder / "script", script);
    const ProcessResult result = runProcess({kBash, "--norc", folder / "script"});
    CAPTURE(result.err);
    CHECK(result.exitCode == 0);
    CHECK(result.err.empty());
    Words out;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
        out.push_back(line);
    std::sort(out.begin(), out.end());
    return out;
}

bool has(const Words& words, const std::string& word)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Runs `shell -n` on the script, where that shell is installed.
void checkSyntax(const std::string& shell, const std::string& program)
{
    if (!isInstalled(program))
        return;
    const TemporaryFolder folder;
    spill(folder / "script", runShardscope({"completion", shell}).out);
    const ProcessResult result = runProcess({program, "-n", folder / "script"});
    CAPTURE(result.err);
    CHECK(result.exitCode == 0);
    CHECK(result.err.empty());
}

} // namespace

TEST_CASE("bash completes commands, options, their values and files")
{
    if (!isInstalled(kBash))
        return;
    const TemporaryFolder folder;
    spill(folder / "completion", runShardscope({"completion", "bash"}).out);
    fs::create_directory(folder / "run folder");
    spill(folder / "running.txt", "");

    CHECK(offeredByBash(folder, {"resh"}) == Words{"reshard"});
    CHECK(offeredByBash(folder, {"in"}) == Words{"inspect"});
    CHECK(has(offeredByBash(folder, {""}), "completion"));
    CHECK(offeredByBash(folder, {"reshard", "--wo"}) == Words{"--world-size"});
    CHECK(offeredByBash(folder, {"inspect", "x", "--j"}) == Words{"--json"});
    CHECK(!has(offeredByBash(folder, {"inspect", "-"}), "--world-size"));
    CHECK(offeredByBash(folder, {"inspect", "--progress", ""}) == Words{"auto", "json", "none"});
    CHECK(offeredByBash(folder, {"completion", ""}) == Words{"bash", "fish", "zsh"});
    CHECK(offeredByBash(folder, {"plan", ""}) == Words{"convert", "export", "repair", "reshard"});
    CHECK(has(offeredByBash(folder, {"plan", "reshard", "--o"}), "--output"));
    CHECK(offeredByBash(folder, {"inspect", "run"}) == Words{"run folder", "running.txt"});
    CHECK(offeredByBash(folder, {"inspect", "--root", "run"}) == Words{"run folder"});
    CHECK(offeredByBash(folder, {"inspect", "-t", ""}).empty());
    CHECK(offeredByBash(folder, {"reshard", "-w", "3", "src", "run"})
        == Words{"run folder"}); // DST is a folder
}

TEST_CASE("every script is accepted by its shell")
{
    checkSyntax("bash", kBash);
    checkSyntax("zsh", "/usr/bin/zsh");
    checkSyntax("fish", "/usr/bin/fish");
}

TEST_CASE("completion as an object holds the same script")
{
    for (const std::string shell : {"bash", "zsh", "fish"})
        CHECK(answerOf({"completion", shell}).at("script") == runShardscope({"completion", shell}).out);
}
