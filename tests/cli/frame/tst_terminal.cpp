// SPDX-License-Identifier: Apache-2.0
// Output on a terminal: lines fit its width, and control codes appear only if it supports them.
#include "app/cli/frame/command.h"
#include "core/report/text/printable.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

ProcessOptions terminal(const std::string& columns, const std::string& kind = "xterm")
{
    return {.environment = {{"TERM", kind}, {"COLUMNS", columns}, {"NO_COLOR", "1"}}, .onTerminal = true};
}

size_t longestLine(const std::string& text)
{
    std::istringstream lines(text);
    std::string line;
    size_t longest = 0;
    while (std::getline(lines, line)) {
        if (line.ends_with('\r'))
            line.pop_back();
        longest = std::max(longest, displayWidth(line));
    }
    return longest;
}

/// The texts of the progress line, in order.
std::vector<std::string> progressLines(const std::string& shown)
{
    const std::string erase = "\r\x1b[K";
    std::vector<std::string> out;
    for (size_t at = shown.find(erase); at != std::string::npos; at = shown.find(erase, at + 1)) {
        const size_t begin = at + erase.size();
        const size_t end = shown.find_first_of("\r\n", begin);
        out.push_back(shown.substr(begin, end == std::string::npos ? end : end - begin));
    }
    return out;
}

} // namespace

TEST_CASE("help fits the terminal")
{
    for (const cli::Command& command : cli::program().children) {
        CAPTURE(command.name);
        const std::string narrow = runShardscope({command.name, "--help"}, terminal("60")).out;
        CHECK(longestLine(narrow) <= 60);
    }
    CHECK(longestLine(runShardscope({"--help"}, terminal("60")).out) <= 60);
    const std::string wide = runShardscope({"reshard", "--help"}).out;
    CHECK(longestLine(wide) > 80);
    CHECK(longestLine(wide) <= 96);
    // Neither a huge terminal nor a wrong number changes the width; below 40 columns nothing is readable.
    for (const char* const columns : {"1000", "0", "-3", "wide", ""})
        CHECK(longestLine(runShardscope({"reshard", "--help"}, terminal(columns)).out) == longestLine(wide));
    CHECK(runShardscope({"reshard", "--help"}, terminal("3")).out
        == runShardscope({"reshard", "--help"}, terminal("40")).out);
    // A file or a pipe gets the same text on every terminal.
    CHECK(runShardscope({"reshard", "--help"}, {.environment = {{"COLUMNS", "50"}}}).out == wide);
}

TEST_CASE("pages of the manual fit the terminal")
{
    for (const Json& topic : answerOf({"help"}).at("topics")) {
        const std::string name = topic.at("topic");
        CAPTURE(name);
        const std::string page = runShardscope({"help", name}, terminal("80", "dumb")).out;
        CHECK(page.find("\n#") == std::string::npos);
        CHECK(page.find("| ---") == std::string::npos);
        CHECK(page.find("](") == std::string::npos);
        // Only code is as long as it is.
        size_t start = 0;
        for (size_t end = page.find('\n'); end != std::string::npos; end = page.find('\n', start)) {
            const std::string line = page.substr(start, end - start);
            start = end + 1;
            CAPTURE(line);
            CHECK((displayWidth(line) <= 81 || line.starts_with("    "))); // the terminal adds a return
        }
    }
    ProcessOptions coloured = terminal("80");
    coloured.environment.back().second = ""; // NO_COLOR
    CHECK(contains(runShardscope({"help", "concepts"}, coloured).out, "\x1b[1m"));
}

TEST_CASE("the progress line fits the terminal")
{
    const TemporaryFolder folder;
    for (const char* const columns : {"60", "40", "20", "9"}) {
        CAPTURE(columns);
        const std::string shown = runShardscope(
            {"reshard", samplePath("zero3-w4"), folder / columns, "-w", "2"}, terminal(columns))
                                      .out;
        const auto lines = progressLines(shown);
        bool seen = false;
        for (const std::string& line : lines) {
            // The last erased line makes room for the answer.
            if (&line == &lines.back())
                break;
            CAPTURE(line);
            CHECK(displayWidth(line) < static_cast<size_t>(std::stoi(columns)));
            seen = seen || !line.empty();
        }
        CHECK(seen);
    }
}

TEST_CASE("a terminal without cursor codes gets none")
{
    const TemporaryFolder folder;
    const Words words{"reshard", samplePath("zero3-w4"), folder / "a", "-w", "2", "--force"};
    CHECK(contains(runShardscope(words, terminal("80")).out, "\x1b[K"));
    for (const char* const kind : {"dumb", ""})
        CHECK(!contains(runShardscope(words, terminal("80", kind)).out, "\x1b"));
    // TERM is unset.
    Words without{"/usr/bin/env", "-u", "TERM", "-u", "NO_COLOR", programPath()};
    without.insert(without.end(), words.begin(), words.end());
    CHECK(!contains(runProcess(without, {.onTerminal = true}).out, "\x1b"));
    // NO_COLOR is only about colours.
    const std::string plain = runShardscope(words, terminal("80")).out;
    CHECK(contains(plain, "\x1b[K"));
    CHECK(!contains(plain, "m\x1b[K"));
    CHECK(!contains(plain, "\x1b[0m"));
}
