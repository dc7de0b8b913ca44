// SPDX-License-Identifier: Apache-2.0
// What goes where: the answer alone on standard output, all else on standard error, and nothing that harms a
// terminal.
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

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

TEST_CASE("colours on a terminal that wants them only")
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

TEST_CASE("the log file has times, -v speaks on standard error")
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
    if (!fs::exists("/dev/full"))
        return;
    const ProcessResult result
        = runShardscope({"inspect", samplePath("zero2-w2"), "--json"}, {.outputFile = "/dev/full"});
    CHECK(result.exitCode == 5);
}

TEST_CASE("warnings go to standard error and leave with --quiet")
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

TEST_CASE("names cannot drive a terminal or break JSON")
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
    if (!fs::exists("/usr/bin/ldd"))
        return;
    const ProcessResult result = runProcess({"/usr/bin/ldd", programPath()});
    REQUIRE(result.exitCode == 0);
    for (const char* const library : {"libQt", "libtorch", "libc10", "libpython", "libcuda"})
        CHECK(!contains(result.out, library));
}

TEST_CASE("a terminal sees one progress line, and it is gone at the end")
{
    const TemporaryFolder folder;
    const ProcessOptions terminal{.environment = {{"TERM", "xterm"}}, .onTerminal = true};
    const Words words{"reshard", samplePath("zero3-w4"), folder / "out", "-w", "2", "--force"};
    const std::string shown = runShardscope(words, terminal).out;
    CHECK(contains(shown, "\r\x1b[K"));
    CHECK(contains(shown, "% "));
    const size_t erased = shown.rfind("\r\x1b[K");
    CHECK(!contains(shown.substr(erased), "% "));
    CHECK(contains(shown.substr(erased), "verified"));
    Words without = words;
    without.insert(without.end(), {"--progress", "none"});
    CHECK(!contains(runShardscope(without, terminal).out, "\x1b[K"));
}
