// SPDX-License-Identifier: Apache-2.0
// Wrong calls, help and suggestions.
#include "app/cli/frame/command.h"
#include "app/cli/frame/help.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

/// Every command of the program as words: {"inspect"}, {"plan", "reshard"}, …
void collect(const cli::Command& command, const Words& words, std::vector<Words>& out)
{
    out.push_back(words);
    for (const cli::Command& child : command.children) {
        Words inner = words;
        inner.push_back(child.name);
        collect(child, inner, out);
    }
}

std::vector<Words> allCommands()
{
    std::vector<Words> out;
    collect(cli::program(), {}, out);
    return out;
}

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("every command explains itself like a man page")
{
    const auto commands = allCommands();
    CHECK(commands.size() == 30);
    for (const Words& command : commands) {
        Words words = command;
        words.emplace_back("--help");
        const ProcessResult result = runShardscope(words);
        CAPTURE(result.out);
        CHECK(result.exitCode == 0);
        CHECK(result.err.empty());
        for (const char* const heading :
            {"NAME\n", "SYNOPSIS\n", "DESCRIPTION\n", "OPTIONS\n", "EXAMPLES\n", "EXIT STATUS\n"})
            CHECK(contains(result.out, heading));
        for (size_t begin = 0; begin < result.out.size();) {
            const size_t end = std::min(result.out.find('\n', begin), result.out.size());
            CHECK(end - begin <= 110);
            begin = end + 1;
        }
    }
}

TEST_CASE("help works with missing arguments")
{
    CHECK(runShardscope({"reshard", "--help"}).exitCode == 0);
    CHECK(runShardscope({"reshard", "-h", "--world-size", "2"}).exitCode == 0);
}

TEST_CASE("typing errors get a suggestion")
{
    const auto hintFor
        = [](const Words& words) { return errorOf(words, 2, "usage").at("hint").get<std::string>(); };
    CHECK(contains(hintFor({"inspct", "x"}), "`inspect`"));
    CHECK(contains(hintFor({"rehsard", "x", "y"}), "`reshard`"));
    CHECK(contains(hintFor({"reshard", "x", "y", "--wrold-size", "3"}), "`--world-size`"));
    CHECK(contains(hintFor({"reshard", "x", "y", "--world-sizes=3"}), "`--world-size`"));
    CHECK(contains(hintFor({"inspect", "x", "--progress", "jason"}), "`json`"));
    CHECK(contains(hintFor({"reshard", samplePath("zero2-w2"), "y", "-w", "3", "--allow", "rank-mising"}),
        "`rank-missing`"));
    CHECK(contains(hintFor({"frobnicate"}), "--help"));
    CHECK(contains(hintFor({"plan", "reshrad", "x"}), "`reshard`"));
}

TEST_CASE("wrong calls are usage errors, in words and as an object")
{
    for (const Words& words :
        {Words{}, Words{"plan"}, Words{"inspect"}, Words{"inspect", ""}, Words{"inspect", "a", "b"},
            Words{"reshard", "a"}, Words{"completion", "tcsh"}, Words{"inspect", "a", "--tag"},
            Words{"inspect", "a", "--nonsense"}, Words{"show", "a", "b", "--limit", "-1"},
            Words{"show", "a", "b", "--limit", "9999999999"}, Words{"show", "a", "b", "--force"},
            Words{"plan", "reshard", "a", "b", "-w", "2"}, Words{"inspect", "--json=maybe", "a"}}) {
        const ProcessResult result = runShardscope(words);
        CAPTURE(result.err);
        CHECK(result.exitCode == 2);
        CHECK(result.out.empty());
        CHECK(result.err.starts_with("error: "));
        errorOf(words, 2, "usage");
    }
}

TEST_CASE("options can be anywhere, and -- ends them")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero2-w2");
    const std::string plain = runShardscope({"inspect", source, "--tag", "global_step3"}).out;
    CHECK(!plain.empty());
    CHECK(runShardscope({"inspect", "--tag=global_step3", source}).out == plain);
    CHECK(runShardscope({"inspect", "-t", "global_step3", "--", source}).out == plain);
    CHECK(
        Json::parse(runShardscope({"--json", "inspect", source}).out).at("schema") == "shardscope/inspect/1");
    CHECK(Json::parse(runShardscope({"--progress", "none", "--json", "inspect", source}).out).at("tag")
        == "global_step6");
    // A folder may be called like a command or like an option.
    errorOf({"inspect", "params"}, 3, "not-found");
    errorOf({"inspect", "--", "--tag"}, 3, "not-found");
}

TEST_CASE("an option with one value is given once")
{
    const std::string run = samplePath("zero2-w2");
    const TemporaryFolder folder;
    const Json error
        = errorOf({"reshard", run, folder / "out", "-w", "3", "--world-size", "4", "-n"}, 2, "usage");
    CHECK(contains(error.at("message"), "--world-size"));
    errorOf({"--progress", "none", "inspect", run, "--progress", "json"}, 2, "usage");
    errorOf({"inspect", run, "--tag=global_step3", "-t", "global_step3"}, 2, "usage");
    // Those that repeat, and switches, may be given several times.
    answerOf({"inspect", run, "--root", run, "--root", run});
    CHECK(runShardscope({"inspect", run, "-q", "-q", "--quiet"}).exitCode == 0);
}

TEST_CASE("an empty value is an error")
{
    const std::string run = samplePath("zero2-w2");
    const TemporaryFolder folder;
    for (const Words& more : {Words{"--tag-out", ""}, Words{"--tag-out="}, Words{"--tag", ""},
             Words{"-t", ""}, Words{"--patterns", ""}, Words{"--log-file", ""}, Words{"--root", ""}}) {
        Words words{"reshard", run, folder / "out", "-w", "3", "-n"};
        words.insert(words.end(), more.begin(), more.end());
        CAPTURE(more[0]);
        const Json error = errorOf(words, 2, "usage");
        CHECK(contains(error.at("message"), "empty"));
    }
    // The word after it is not taken for the value.
    CHECK(contains(errorOf({"inspect", "--tag=", run}, 2, "usage").at("message"), "--tag is empty"));
    errorOf({"inspect", "--", "--tag="}, 3, "not-found");
}

TEST_CASE("without a command the commands are listed")
{
    for (const Words& words : {Words{}, Words{"plan"}}) {
        const ProcessResult result = runShardscope(words);
        CHECK(result.exitCode == 2);
        CHECK(result.out.empty());
        CHECK(contains(result.err, "COMMANDS\n"));
        CHECK(contains(result.err, "  reshard "));
        CHECK(contains(result.err, "--help"));
        CHECK(contains(result.err, "  inspect ") == words.empty());
    }
}

TEST_CASE("--bwlimit needs a rate, and spreads the bytes of a job over time")
{
    const std::string source = samplePath("zero3-w4").string();
    errorOf({"inspect", source, "--bwlimit", "0"}, 2, "usage");
    errorOf({"inspect", source, "--bwlimit", "fast"}, 2, "usage");
    const TemporaryFolder folder;
    const auto start = std::chrono::steady_clock::now();
    const Json answer = answerOf({"reshard", source, folder / "out", "-w", "2", "--bwlimit", "1M"});
    // About 0.3 MiB are read, written and read back.
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double bytes = answer.at("plan").at("reads_bytes").get<double>()
        + 2 * answer.at("plan").at("writes_bytes").get<double>();
    CHECK(seconds >= 0.8 * bytes / (1 << 20));
    CHECK(answer.at("result").at("limited_by") == "bwlimit");
    CHECK(answerOf({"verify", folder / "out"}).at("ok") == true);
}

TEST_CASE("a process that a launcher starts itself does not repeat what the first one does")
{
    const TemporaryFolder folder;
    const std::string launcher = folder / "mpirun"; // a process is known by its parent's name
    std::ofstream(launcher) << "#!/bin/sh\n\"$@\"\nexit $?\n";
    std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
    const std::string run = samplePath("zero2-w2");
    const auto started = [&](Words words, const char* rank) {
        words.insert(words.begin(), {launcher, programPath()});
        return runProcess(
            words, {.environment = {{"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", "2"}}});
    };
    CHECK(started({"inspect", run}, "0").exitCode == 0);
    const ProcessResult second = started({"inspect", run}, "1");
    CHECK(second.exitCode == 2);
    CHECK(second.err.find("process 1 of 2") != std::string::npos);
    CHECK(second.err.find("--mpi") == std::string::npos); // which it does not take
    // These are for every process: one node's part, and a folder for all.
    CHECK(started({"fingerprint", run, "--partial"}, "1").exitCode == 0);
    CHECK(started({"ensure", run, "-w", "2"}, "1").exitCode == 0);
    CHECK(started({"reshard", run, folder / "out", "-w", "3", "--part", "0/2"}, "1").exitCode == 0);
}

TEST_CASE("the manual page has every command, option, exit status and environment variable")
{
    std::string page = runShardscope({"help", "man"}).out;
    for (size_t at = page.find('\\'); at != std::string::npos; at = page.find('\\', at))
        page.erase(at, page.compare(at, 2, "\\f") == 0 ? 3 : 1); // \fB, \fR, \-
    const auto has = [&](const std::string& text) { return page.find(text) != std::string::npos; };
    size_t options = 0;
    for (const Words& words : allCommands()) {
        const cli::Command* command = &cli::program();
        std::string name;
        for (const std::string& word : words) {
            command = &*std::ranges::find(command->children, word, &cli::Command::name);
            name += (name.empty() ? "" : " ") + word;
        }
        if (command->run == nullptr)
            continue;
        CAPTURE(name);
        CHECK(has("\n.SS " + name + "\n"));
        for (const auto* list : {&command->options, &command->commonOptions}) {
            for (const Option& option : *list) {
                CAPTURE(option.name);
                CHECK(has("\n.B " + cli::optionTerm(option) + "\n"));
                ++options;
            }
        }
    }
    CHECK(options > 300);
    for (const char* text : {"\n.B 130\n", "NO_COLOR", "SLURM_NTASKS", "FILE!RECORD+BYTE"})
        CHECK(has(text));
    CHECK(answerOf({"help", "man"}).at("text") == runShardscope({"help", "man"}).out);
}
