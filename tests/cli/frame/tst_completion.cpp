// SPDX-License-Identifier: Apache-2.0
// The completion scripts in the shells they are for.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kBash = "/bin/bash";

/// What a script of `shell` prints, one completion a line. It finds the program as `shardscope` in its
/// folder.
Words linesOf(const Words& command, const TemporaryFolder& folder, const std::string& script)
{
    spill(folder / "script", "cd '" + folder.path().string() + "'\n" + script);
    Words all = command;
    all.push_back(folder / "script");
    const ProcessResult result = runProcess(all);
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

std::string quoted(const Words& words)
{
    std::string out;
    for (const std::string& word : words)
        out += " '" + word + "'";
    return out;
}

/// A folder with the completion script, the program and something to complete.
struct Place {
    explicit Place(const std::string& shell)
    {
        spill(folder / "completion", runShardscope({"completion", shell}).out);
        fs::create_symlink(shardscope::programPath(), folder / "shardscope");
        fs::create_directory(folder / "run folder");
        spill(folder / "running.txt", "");
    }
    TemporaryFolder folder;
};

/// The completions of bash for the last word.
Words offeredByBash(const Place& place, const Words& words)
{
    return linesOf({kBash, "--norc"}, place.folder,
        "source ./completion\ncompopt() { :; }\nCOMP_WORDS=(./shardscope" + quoted(words)
            + ")\nCOMP_CWORD=" + std::to_string(words.size())
            + "\n_shardscope\n(( ${#COMPREPLY[@]} )) && printf '%s\\n' \"${COMPREPLY[@]}\"\ntrue\n");
}

/// Those of fish, without what they mean.
Words offeredByFish(const Place& place, const std::string& line)
{
    Words out = linesOf({"/usr/bin/fish", "--no-config"}, place.folder,
        "source ./completion\ncomplete -C './shardscope " + line + "'\n");
    for (std::string& word : out)
        word.resize(std::min(word.size(), word.find('\t')));
    return out;
}

/// What the function for zsh passes to the functions of zsh that show completions.
Words offeredByZsh(const Place& place, const Words& words)
{
    return linesOf({"/usr/bin/zsh", "-f"}, place.folder,
        "compdef() { :; }\n_files() { print -l -- _files $*; }\n"
        "_describe() { local -a all=(\"${(@P)2}\"); print -l -- \"${(@)all%%:*}\"; }\nsource ./completion\n"
        "words=(./shardscope"
            + quoted(words) + ")\nCURRENT=" + std::to_string(words.size() + 1) + "\n_shardscope\n");
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
    const Place place("bash");
    CHECK(offeredByBash(place, {"resh"}) == Words{"reshard"});
    CHECK(offeredByBash(place, {"in"}) == Words{"inspect"});
    CHECK(has(offeredByBash(place, {""}), "completion"));
    CHECK(offeredByBash(place, {"reshard", "--wo"}) == Words{"--world-size"});
    CHECK(offeredByBash(place, {"inspect", "x", "--j"}) == Words{"--json"});
    CHECK(!has(offeredByBash(place, {"inspect", "-"}), "--world-size"));
    CHECK(offeredByBash(place, {"inspect", "--progress", ""}) == Words{"auto", "json", "none"});
    CHECK(offeredByBash(place, {"completion", ""}) == Words{"bash", "fish", "zsh"});
    CHECK(offeredByBash(place, {"plan", ""}) == Words{"convert", "export", "repair", "reshard"});
    CHECK(has(offeredByBash(place, {"plan", "reshard", "--o"}), "--output"));
    CHECK(offeredByBash(place, {"inspect", "run"}) == Words{"run folder", "running.txt"});
    CHECK(offeredByBash(place, {"inspect", "--root", "run"}) == Words{"run folder"});
    CHECK(offeredByBash(place, {"inspect", "-t", ""}).empty());
    CHECK(
        offeredByBash(place, {"reshard", "-w", "3", "src", "run"}) == Words{"run folder"}); // DST is a folder
}

TEST_CASE("fish and zsh complete the same")
{
    if (isInstalled("/usr/bin/fish")) {
        const Place place("fish");
        CHECK(offeredByFish(place, "resh") == Words{"reshard"});
        CHECK(offeredByFish(place, "reshard --wo") == Words{"--world-size"});
        CHECK(offeredByFish(place, "inspect --progress ") == Words{"auto", "json", "none"});
        CHECK(offeredByFish(place, "plan ") == Words{"convert", "export", "repair", "reshard"});
        CHECK(offeredByFish(place, "inspect runn") == Words{"running.txt"});
        CHECK(offeredByFish(place, "inspect -t ").empty());
    }
    if (isInstalled("/usr/bin/zsh")) {
        const Place place("zsh");
        CHECK(offeredByZsh(place, {"resh"}) == Words{"reshard"});
        CHECK(offeredByZsh(place, {"reshard", "--wo"}) == Words{"--world-size"});
        CHECK(offeredByZsh(place, {"inspect", "--progress", ""}) == Words{"auto", "json", "none"});
        CHECK(offeredByZsh(place, {"plan", ""}) == Words{"convert", "export", "repair", "reshard"});
        CHECK(offeredByZsh(place, {"inspect", "run"}) == Words{"_files"});
        CHECK(offeredByZsh(place, {"inspect", "--root", "run"}) == Words{"-/", "_files"});
    }
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
