// SPDX-License-Identifier: Apache-2.0
// Standard output has only the answer, standard error has the rest, and nothing that harms a
// terminal.
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("colours only on a terminal that supports them")
{
    const Words words{"inspect", samplePath("zero2-w2")};
    const auto onTerminal
        = [&](std::vector<std::pair<std::string, std::string>> environment, Words extra = {}) {
              Words all = words;
              all.insert(all.end(), extra.begin(), extra.end());
              environment.insert(environment.begin(), {{"TERM", "xterm"}, {"NO_COLOR", ""}});
              return runShardscope(all, {.environment = environment, .onTerminal = true}).out;
          };
    CHECK(contains(onTerminal({}), "\x1b["));
    CHECK(!contains(onTerminal({{"NO_COLOR", "1"}}), "\x1b["));
    CHECK(!contains(onTerminal({{"TERM", "dumb"}}), "\x1b["));
    CHECK(!contains(onTerminal({}, {"--no-color"}), "\x1b["));
    CHECK(!contains(runShardscope(words).out, "\x1b["));
}

TEST_CASE("progress as JSON lines, and none without a terminal")
{
    const TemporaryFolder folder;
    const Json schema = readSchema("progress");
    const ProcessResult result = runShardscope(
        {"reshard", samplePath("zero3-w4"), folder / "a", "-w", "2", "--progress", "json", "--json"});
    CHECK(result.exitCode == 0);
    std::istringstream lines(result.err);
    std::string line;
    int count = 0;
    while (std::getline(lines, line)) {
        CAPTURE(line);
        CHECK(schemaErrors(schema, Json::parse(line), true).empty());
        ++count;
    }
    CHECK(count > 0);
    CHECK(runShardscope({"reshard", samplePath("zero3-w4"), folder / "b", "-w", "2"}).err.empty());
    CHECK(runShardscope(
        {"reshard", samplePath("zero3-w4"), folder / "c", "-w", "2", "--progress", "json", "-q"})
              .err.empty());
}

TEST_CASE("the log file has times, -v logs on standard error")
{
    const TemporaryFolder folder;
    const fs::path log = folder / "log.txt";
    const Words words{"reshard", samplePath("zero2-w2"), folder / "out", "-w", "1", "-n", "--log-file", log};
    const ProcessResult quiet = runShardscope(words);
    CHECK(quiet.exitCode == 0);
    CHECK(quiet.err.empty());
    const std::string once = slurp(log);
    CHECK(contains(once, "planning for world size 1"));
    CHECK(contains(once, "T"));
    Words loud = words;
    loud.emplace_back("-v");
    CHECK(contains(runShardscope(loud).err, "planning for world size 1"));
    CHECK(slurp(log).size() > once.size()); // appended
    errorOf({"inspect", samplePath("zero2-w2"), "--log-file", folder.path()}, 5, "write-failed");
}

TEST_CASE("an answer that cannot be written is an error")
{
    const std::string run = samplePath("zero2-w2");
    const std::vector<Words> calls{{"inspect", run}, {"inspect", run, "--json"}, {"params", run, "--json"},
        {"--help"}, {"reshard", "--help"}, {"--version"}, {"completion", "bash"},
        {"completion", "zsh", "--json"}, {"check", run}, {"inspect", run / fs::path("nothing"), "--json"}};
    for (const Words& words : calls) {
        CAPTURE(words[0]);
        const bool isError = words.size() == 3 && words[1] != run && words[0] == "inspect";
        std::string line = "'" + programPath() + "'";
        for (const std::string& word : words)
            line += " '" + word + "'";
        const auto check = [&](const ProcessResult& result) {
            CAPTURE(result.err);
            CHECK(contains(result.err, isError ? "exit 3\n" : "exit 5\n"));
            CHECK(contains(result.err, isError ? "error: " : "standard output"));
        };
        check(runProcess({"/bin/sh", "-c", line + " >/dev/full; echo exit $? >&2"}));
        check(runProcess({"/bin/sh", "-c", line + " >&-; echo exit $? >&2"}));
        // The reader closes the pipe before the answer: it has seen enough, except of an error.
        const ProcessResult piped
            = runProcess({"/bin/sh", "-c", "{ sleep 0.1; " + line + "; echo exit $? >&2; } | :"});
        CAPTURE(piped.err);
        if (isError)
            check(piped);
        else
            CHECK(piped.err == "exit 0\n");
    }
}

TEST_CASE("an answer never reaches a file of the checkpoint")
{
    // With standard output closed, the next file that is opened would get its number.
    const TemporaryFolder folder;
    const std::string out = folder / "out";
    const std::string line = "'" + programPath() + "' reshard '" + samplePath("zero2-w2").string() + "' '"
        + out + "' -w 3 --quiet >&- <&-; echo exit $? >&2";
    CHECK(contains(runProcess({"/bin/sh", "-c", line}).err, "exit 5\n"));
    answerOf({"verify", out, "--against", samplePath("zero2-w2")});
}

TEST_CASE("a hyphen is standard output for reports and plans")
{
    const TemporaryFolder folder;
    const std::string run = samplePath("zero2-w2");
    const ProcessResult sarif = runShardscope({"check", run, "--sarif", "-"});
    CHECK(sarif.exitCode == 0);
    CHECK(Json::parse(sarif.out).at("version") == "2.1.0");
    CHECK(contains(sarif.err, "global_step6")); // the text answer
    CHECK(runShardscope({"check", run, "--sarif=-", "--quiet"}).err.empty());
    CHECK(runShardscope({"check", run, "--sarif", "-"}, {.outputFile = "/dev/full"}).exitCode == 5);
    const ProcessResult html = runShardscope({"check", run, "--html", "-", "--sarif", folder / "a.sarif"});
    CHECK(html.out.starts_with("<!"));
    CHECK(html.out.ends_with("</html>\n"));
    CHECK(fs::exists(folder / "a.sarif"));

    const Words words{"plan", "reshard", run, folder / "out", "-w", "3"};
    const auto with = [&](const Words& more) {
        Words all = words;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const ProcessResult plan = runShardscope(with({"-o", "-"}));
    CHECK(plan.exitCode == 0);
    CHECK(contains(plan.err, "reshard"));
    CHECK(runShardscope(with({"-o", folder / "plan.json"})).exitCode == 0);
    CHECK(plan.out == slurp(folder / "plan.json"));

    // One object or one file, not both.
    errorOf({"check", run, "--sarif", "-"}, 2, "usage");
    errorOf({"check", run, "--html", "-"}, 2, "usage");
    errorOf(with({"-o", "-"}), 2, "usage");
    CHECK(runShardscope({"check", run, "--sarif", "-", "--html", "-"}).exitCode == 2);
    // Output that is written in pieces needs a file.
    errorOf({"show", run, "layers.0.attention.wo.weight", "--npy", "-"}, 2, "usage");
    errorOf({"inspect", run, "--log-file", "-"}, 2, "usage");
    errorOf({"skeleton", run, "-"}, 2, "usage");
    CHECK(!fs::exists("-"));
}

TEST_CASE("--quiet leaves the result line")
{
    const TemporaryFolder folder;
    const std::string run = samplePath("zero2-w2");
    const auto lineOf = [](const Words& words) {
        const ProcessResult result = runShardscope(words);
        CAPTURE(result.out);
        CHECK(result.exitCode == 0);
        CHECK(result.err.empty());
        CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
        return result.out;
    };
    CHECK(lineOf({"reshard", run, folder / "a", "-w", "3", "-q"})
        == "written  " + (folder / "a/global_step6").string() + "\n");
    CHECK(contains(lineOf({"reshard", run, folder / "b", "-w", "3", "-q", "-n"}), "dry run"));
    CHECK(contains(lineOf({"convert", run, folder / "c", "--to", "universal", "-q"}), "written  "));
    CHECK(contains(lineOf({"export", run, folder / "d", "--format", "safetensors", "-q"}), "written  "));
    CHECK(contains(lineOf({"repair", run, folder / "e", "--set", "1:lr=0.5", "-q"}), "written  "));
    CHECK(contains(lineOf({"skeleton", run, folder / "f.zip", "-q"}), "written  "));
    CHECK(contains(lineOf({"plan", "reshard", run, folder / "g", "-w", "3", "-o", folder / "g.json", "-q"}),
        "saved to "));
    CHECK(contains(lineOf({"run", folder / "g.json", "-q"}), "written  "));
    // A requested answer is the result.
    CHECK(runShardscope({"inspect", run, "-q"}).out == runShardscope({"inspect", run}).out);
}

TEST_CASE("warnings go to standard error, but not with --quiet")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    fs::remove(run / "global_step5/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt");
    const ProcessResult loud = runShardscope({"params", run});
    CHECK(loud.exitCode == 0);
    CHECK(contains(loud.err, "rank-missing"));
    CHECK(!contains(loud.out, "rank-missing"));
    const ProcessResult quiet = runShardscope({"params", run, "--quiet"});
    CHECK(quiet.err.empty());
    CHECK(quiet.out == loud.out);
}

TEST_CASE("names cannot control a terminal or break JSON")
{
    const TemporaryFolder folder;
    const fs::path hostile = folder / "a\x1b[2Jb\xff\n";
    fs::copy(samplePath("zero2-w2"), hostile, fs::copy_options::recursive);
    const ProcessResult result = runShardscope({"inspect", hostile});
    CHECK(result.exitCode == 0);
    CHECK(!contains(result.out, "\x1b"));
    CHECK(contains(result.out, "a\\x1b[2Jb\\xff\\x0a"));
    const Json answer = answerOf({"inspect", hostile});
    CHECK(contains(answer.at("path").get<std::string>(), "\xEF\xBF\xBD"));
    const std::string hex = answer.at("path_hex");
    CHECK(hex.ends_with("611b5b324a62ff0a"));
    const ProcessResult error = runShardscope({"inspect", hostile / "gone"});
    CHECK(error.exitCode == 3);
    CHECK(!contains(error.err, "\x1b"));
}

TEST_CASE("the program needs neither Qt nor LibTorch")
{
    if (!isInstalled("/usr/bin/ldd"))
        return;
    const ProcessResult result = runProcess({"/usr/bin/ldd", programPath()});
    REQUIRE(result.exitCode == 0);
    for (const char* const library : {"libQt", "libtorch", "libc10", "libpython", "libcuda"})
        CHECK(!contains(result.out, library));
}

TEST_CASE("a terminal shows one progress line, and it is removed at the end")
{
    const TemporaryFolder folder;
    const ProcessOptions terminal{.environment = {{"TERM", "xterm"}}, .onTerminal = true};
    const Words words{"reshard", samplePath("zero3-w4"), folder / "out", "-w", "2", "--force"};
    const std::string shown = runShardscope(words, terminal).out;
    CHECK(contains(shown, "\r\x1b[K"));
    CHECK(contains(shown, "% "));
    const size_t erased = shown.rfind("\r\x1b[K");
    const size_t limits = shown.find("limited by", erased); // the answer's last line has a share in per cent
    CHECK(!contains(shown.substr(erased, limits - erased), "% "));
    CHECK(contains(shown.substr(erased), "verified"));
    Words without = words;
    without.insert(without.end(), {"--progress", "none"});
    CHECK(!contains(runShardscope(without, terminal).out, "\x1b[K"));
}
