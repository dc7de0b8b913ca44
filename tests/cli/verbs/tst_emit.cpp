// SPDX-License-Identifier: Apache-2.0
// `shardscope emit`: output files of a saved plan that go to pipes and descriptors.
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// A plan that was saved and run.
struct Saved {
    explicit Saved(const std::string& sample, const Words& plan)
        : source(copySample(sample, folder))
    {
        Words words{"plan"};
        words.insert(words.end(), plan.begin(), plan.end());
        words.insert(words.begin() + 2, {source, (folder / "out").string()});
        words.insert(words.end(), {"-o", path()});
        answerOf(words);
        run = answerOf({"run", path()});
    }

    [[nodiscard]] std::string path() const { return (folder / "plan.json").string(); }
    [[nodiscard]] std::string fileOf(const std::string& name) const
    {
        const std::string target = run["plan"]["target"];
        return readFile(folder / "out" / target / name);
    }
    [[nodiscard]] static std::string readFile(const std::filesystem::path& path)
    {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    TemporaryFolder folder;
    std::string source;
    nlohmann::json run;
};

/// Runs a command with descriptor 5 open for a file.
ProcessResult withDescriptor(const std::filesystem::path& file, const Words& words)
{
    Words all{"/bin/sh", "-c", "exec 5>\"$0\"; exec \"$@\"", file.string(), programPath()};
    all.insert(all.end(), words.begin(), words.end());
    return runProcess(all);
}

} // namespace

TEST_CASE("emit writes the bytes of every planned file, and the answers add up to the fingerprint")
{
    const Saved saved("zero2-w2", {"reshard", "-w", "3"});
    Words combine{"emit", saved.path(), "--combine"};
    for (const auto& file : saved.run["plan"]["files"]) {
        const std::string name = file["path"];
        CAPTURE(name);
        const ProcessResult plain = runShardscope({"emit", saved.path(), name});
        CHECK(plain.exitCode == 0);
        CHECK(plain.out == saved.fileOf(name));
        CHECK(plain.err.find(name) != std::string::npos);
        const auto copy = saved.folder / "copy";
        const ProcessResult described
            = withDescriptor(copy, {"emit", saved.path(), name, "--to", "5", "--digest", "--json"});
        CHECK(described.exitCode == 0);
        CHECK(Saved::readFile(copy) == saved.fileOf(name));
        const auto answer = nlohmann::json::parse(described.out);
        CHECK(schemaErrors(readSchema("emit"), answer, true).empty());
        CHECK(answer["plan"] == saved.run["plan"]["id"]);
        CHECK(answer["file"] == name);
        CHECK(answer["bytes"] == file["bytes"]);
        const auto answerFile = saved.folder / ("answer" + std::to_string(combine.size()));
        std::ofstream(answerFile) << described.out;
        combine.push_back(answerFile.string());
    }
    const auto sum = answerOf(combine);
    CHECK(sum["missing"].empty());
    CHECK(sum["fingerprint"] == saved.run["result"]["fingerprint"]);
    combine.pop_back();
    const auto rest = answerOf(combine, 1);
    CHECK(rest["missing"].size() == 1);
    CHECK(rest["fingerprint"].is_null());
}

TEST_CASE("emit refuses what it cannot do, before a byte is written")
{
    const Saved saved("zero2-w2", {"export", "--format", "torch"});
    const std::string name = "pytorch_model.bin";
    const auto nothing = [&](const Words& words, int exitCode, const std::string& text) {
        CAPTURE(words);
        const ProcessResult result = runShardscope(words);
        CHECK(result.exitCode == exitCode);
        CHECK(result.out.empty());
        CHECK(result.err.find(text) != std::string::npos);
    };
    nothing({"emit", saved.path(), "pytorch_modell.bin"}, 3, "did you mean `pytorch_model.bin`");
    nothing({"emit", saved.path(), name, "--to", "77"}, 2, "descriptor 77");
    nothing({"emit", saved.path(), name, "--to", "0"}, 2, "not open for writing");
    nothing({"emit", saved.path(), name, "--to", "x"}, 2, "--to needs");
    nothing({"emit", saved.path(), name, name}, 2, "too many arguments");
    nothing({"emit", saved.path(), name, "--combine", "--digest"}, 2, "cannot be combined");
    nothing({"emit", saved.path(), saved.path(), "--combine"}, 3, "emit --digest --json");
    const ProcessResult terminal = runShardscope({"emit", saved.path(), name}, {.onTerminal = true});
    CHECK(terminal.exitCode == 2);
    CHECK(terminal.out.find("terminal") != std::string::npos);
    const auto before = contentOf(saved.source);
    const auto file = saved.source + "/global_step6/mp_rank_00_model_states.pt";
    const ProcessResult intoSource = runProcess({"/bin/sh", "-c", "exec \"$@\" 5<>\"$0\"", file,
        programPath(), "emit", saved.path(), name, "--to", "5"});
    CHECK(intoSource.exitCode == 2);
    CHECK(intoSource.err.find("is a source of the plan") != std::string::npos);
    CHECK(contentOf(saved.source) == before);
    std::ofstream(file, std::ios::app) << "x";
    nothing({"emit", saved.path(), name}, 6, "changed");
}

TEST_CASE("emit into a pipe that nobody reads can be stopped")
{
    const Saved saved("zero2-w2", {"export", "--format", "torch"});
    Process process({programPath(), "emit", saved.path(), "pytorch_model.bin"}, {.blockedOutput = true});
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    process.signal(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    CHECK(process.wait().exitCode == 130);
}

TEST_CASE("emit into a pipe that is closed is an error")
{
    const Saved saved("zero2-w2", {"export", "--format", "torch"});
    const ProcessResult result = runProcess({"/bin/sh", "-c", "{ \"$@\"; echo \"exit $?\" >&2; } | true",
        "sh", programPath(), "emit", saved.path(), "pytorch_model.bin"});
    // The file is small: it may be in the pipe before the reader ends.
    const bool written = result.err.find("exit 0") != std::string::npos;
    CHECK((written || result.err.find("exit 5") != std::string::npos));
    const ProcessResult full
        = withDescriptor("/dev/full", {"emit", saved.path(), "pytorch_model.bin", "--to", "5"});
    CHECK(full.exitCode == 5);
}
