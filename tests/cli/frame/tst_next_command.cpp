// SPDX-License-Identifier: Apache-2.0
// Every error names a command that can be pasted, and that command leads on.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Runs the line in a shell as a user who pasted it would, with the built program first in PATH.
ProcessResult pasted(const std::string& line)
{
    const std::string path = fs::path(programPath()).parent_path().string();
    return runProcess({"/bin/sh", "-c", "PATH='" + path + "':$PATH; export PATH; " + line});
}

std::string commandOf(const Words& words, int exitCode, const std::string& code)
{
    const Json error = errorOf(words, exitCode, code);
    CAPTURE(error.dump());
    const Json& command = error.at("command");
    // A hint that holds the command itself needs no second one.
    if (command.is_null())
        CHECK(error.at("hint").get<std::string>().find("shardscope ") != std::string::npos);
    return command.is_string() ? command.get<std::string>() : std::string();
}

/// The same as a person types it, without --json.
std::string typedAfter(const Words& words, int exitCode, const std::string& code)
{
    std::string line = commandOf(words, exitCode, code);
    if (const size_t at = line.find(" --json"); at != std::string::npos)
        line.erase(at, std::string_view(" --json").size());
    return line;
}

} // namespace

TEST_CASE("after a target that exists, the command writes next to it")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero3-w4").string();
    const std::string target = folder / "it's here";
    REQUIRE(runShardscope({"reshard", source, target, "-w", "3", "--quiet"}).exitCode == 0);
    const std::string line = commandOf({"reshard", source, target, "-w", "2", "--quiet"}, 5, "target-exists");
    const ProcessResult second = pasted(line);
    CAPTURE(line);
    CHECK(second.exitCode == 0);
    CHECK(fs::exists(target + "-2/latest"));
    const std::string third = commandOf({"reshard", source, target, "-w", "2"}, 5, "target-exists");
    CHECK(third.find("-3") != std::string::npos);

    // What exists can be the file of an option.
    const std::string file = folder / "plan.json";
    const std::vector<std::string> plan{"plan", "reshard", source, folder / "free", "-w", "2", "-o", file};
    REQUIRE(runShardscope(plan).exitCode == 0);
    CHECK(pasted(commandOf(plan, 5, "target-exists")).exitCode == 0);
    CHECK(fs::exists(folder / "plan-2.json"));
}

TEST_CASE("after a misspelled word, the command has the right one")
{
    const std::string source = samplePath("zero3-w4").string();
    const std::string name = commandOf({"stats", source, "layers.0.attention.wo.wieght"}, 2, "usage");
    CHECK(pasted(name).exitCode == 0);
    const std::string verb = commandOf({"inspekt", source}, 2, "usage");
    CHECK(pasted(verb).exitCode == 0);
    const std::string option = commandOf({"params", source, "--jsno"}, 2, "usage");
    CHECK(pasted(option).exitCode == 0);
}

TEST_CASE("after damage, the command shows what is wrong")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    const fs::path torn = run / "global_step5/bf16_zero_pp_rank_3_mp_rank_00_optim_states.pt";
    REQUIRE(fs::exists(torn));
    fs::remove(torn);
    const Words words{"reshard", run.string(), folder / "out", "-w", "2"};
    const std::string line = commandOf(words, 6, "refused");
    const ProcessResult shown = pasted(line.empty() ? "false" : line);
    CAPTURE(line);
    CHECK(line.starts_with("shardscope check "));
    CHECK(shown.exitCode == 1);
    CHECK(shown.out.find("rank-missing") != std::string::npos);
}

TEST_CASE("suggested commands are those that were meant")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const std::string name = "layers.0.attention.wq.weight";
    CHECK(typedAfter({"show", run, name + "#exp_avgs"}, 2, "usage")
        == "shardscope show " + run.string() + " '" + name + "#exp_avg'");
    const std::string out = folder / "out";
    const std::string misspelt = "layers.0.attention.wq.wieght";
    CHECK(typedAfter({"export", run, out, "--only", misspelt}, 2, "usage")
        == "shardscope export " + run.string() + " " + out + " --only " + name);
    CHECK(typedAfter({"export", run, out, "--strip-prefix", misspelt}, 2, "usage")
        == "shardscope export --help");
    CHECK(typedAfter({"check"}, 2, "usage").empty()); // the hint is a command
    // A short option is not taken for any other of the same length.
    CHECK(typedAfter({"stats", run, "--parm", "x"}, 2, "usage").find("--bars") == std::string::npos);
    // A path, by its nearest name; a tag, but never another step.
    for (const char* wrong : {"zero2_w2", "zero2-w2/", "zero2-w"}) {
        const std::string typed = folder / (std::string(wrong) == "zero2-w2/" ? "zero2w2/" : wrong);
        CAPTURE(typed);
        CHECK(typedAfter({"tags", typed}, 3, "not-found") == "shardscope tags " + run.string());
    }
    CHECK(typedAfter({"diff", run, folder / "zero2_w2"}, 3, "not-found") // nothing is compared with itself
        == "ls -la " + folder.path().string());
    CHECK(typedAfter({"inspect", run, "--tag", "global_stp6"}, 3, "not-found")
        == "shardscope inspect " + run.string() + " --tag global_step6");
    CHECK(typedAfter({"inspect", run, "--tag", "global_step7"}, 3, "not-found")
        == "shardscope tags " + run.string());
    CHECK(typedAfter({"repair", run, folder / "out", "--fix", "rank-mising"}, 2, "usage")
        == "shardscope repair " + run.string() + " " + (folder / "out").string() + " --fix rank-missing");
    // A folder without anything is listed, and a file that is no checkpoint.
    fs::create_directory(folder / "empty");
    CHECK(typedAfter({"inspect", folder / "empty"}, 3, "not-a-checkpoint").starts_with("ls -la "));
    spill(folder / "text", "x");
    CHECK(typedAfter({"inspect", folder / "text"}, 3, "damaged").starts_with("ls -l "));
    // Without the pointer file, one of the tags.
    fs::remove(run / "latest");
    const Words words{"reshard", run, folder / "out", "-w", "3"};
    const std::string line = commandOf(words, 3, "not-found");
    CAPTURE(line);
    CHECK(pasted(line).exitCode == 0);
    CHECK(fs::exists(folder / "out/global_step6"));
    const ProcessResult shown = runShardscope({"inspect", run});
    CHECK(shown.out.find("unknown kind") == std::string::npos);
    CHECK(shown.out.find("1 rank") == std::string::npos);
}

TEST_CASE("a reader that has seen enough is no error")
{
    const TemporaryFolder folder;
    const std::string run = samplePath("zero2-w2").string();
    const std::string program = programPath();
    const auto shell = [](const std::string& line) {
        return test::runProcess({"/bin/bash", "-o", "pipefail", "-c", line});
    };
    for (const std::string verb : {"layout", "params", "files --records", "inspect --json"}) {
        const ProcessResult result = shell("'" + program + "' " + verb + " '" + run + "' | true");
        CAPTURE(verb);
        CHECK(result.exitCode == 0);
        CHECK(result.err.empty());
    }
    // A job goes on.
    const std::string out = folder / "out";
    CHECK(shell("'" + program + "' reshard '" + run + "' '" + out + "' -w 3 | true").exitCode == 0);
    CHECK(fs::exists(out + "/latest"));
}

TEST_CASE("an unknown tag leads to the list of tags, a missing folder to what is there")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero3-w4").string();
    const std::string tags = commandOf({"params", source, "--tag", "global_step77"}, 3, "not-found");
    CHECK(pasted(tags).out.find("global_step5") != std::string::npos);
    std::ofstream(folder / "something") << "x";
    const std::string list = commandOf({"inspect", folder / "absent"}, 3, "not-found");
    CHECK(pasted(list).out.find("something") != std::string::npos);
}

TEST_CASE("a verb that the hint names gets the path")
{
    const std::string source = samplePath("zero3-w4").string();
    const Json error = errorOf({"show", source, "nothing"}, 2, "usage");
    CHECK(error.at("hint").get<std::string>().find("`shardscope params` lists them") != std::string::npos);
    const std::string line = error.at("command").get<std::string>();
    CHECK(pasted(line).out.find("layers.0.attention.wo.weight") != std::string::npos);
}

TEST_CASE("a name in a hint is no part of a command")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove_all(run / "global_step3");
    std::string newest = "global_step6";
    for (const std::string tag : {"params", "step --quiet", "omit --json", "shardscope tags"}) {
        CAPTURE(tag);
        fs::rename(run / newest, run / tag);
        newest = tag;
        const Words words{"inspect", run, "--tag", "nothing"};
        const std::string hint = errorOf(words, 3, "not-found").at("hint").get<std::string>();
        CHECK(hint == "its newest tag is `" + tag + "`");
        CHECK(typedAfter(words, 3, "not-found") == "shardscope tags " + run.string());
    }
    const std::string named = folder / "shardscope runs, did you mean `x`";
    fs::rename(run, named);
    CHECK(typedAfter({"tags", folder / "shardscope rums, did you mean `x`"}, 3, "not-found")
        == "shardscope tags '" + named + "'");
}

TEST_CASE("a hint to omit an option, or to add one, becomes the command")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero2-w2").string();
    for (const Words& option : {Words{"--row-major"}, Words{"--ep", "2"}, Words{"--ep=2"}}) {
        const std::string target = folder / ("out" + option.back());
        Words words{"reshard", source, target, "-w", "3", "--quiet"};
        words.insert(words.end() - 1, option.begin(), option.end());
        const int exitCode = runShardscope(words).exitCode;
        const std::string line = commandOf(words, exitCode, exitCode == 2 ? "usage" : "unsupported");
        CAPTURE(line);
        CHECK(pasted(line).exitCode == 0);
        CHECK(fs::exists(target + "/latest"));
    }
    // The target exists: the free one is offered, never --force.
    const std::string line
        = commandOf({"reshard", source, folder / "out--row-major", "-w", "1"}, 5, "target-exists");
    CHECK(line.find("--force") == std::string::npos);
    // An option that needs a value is not offered without one.
    const std::string parts = commandOf(
        {"reshard", samplePath("pipeline-w4"), folder / "pp", "-w", "2", "--pp", "3"}, 6, "refused");
    CHECK(parts.find("--pp-layers") == std::string::npos);
    CHECK(pasted(parts).exitCode <= 1);
}

TEST_CASE("an interrupted job with another plan leads to --restart")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path target = folder / "out";
    const Words words{"reshard", run.string(), target.string(), "-w", "3"};
    // The work folder of a job for another source: its plan differs.
    fs::create_directories(target);
    const std::string id = answerOf({"reshard", run.string(), target.string(), "-w", "3", "--dry-run"})
                               .at("plan")
                               .at("id")
                               .get<std::string>();
    fs::create_directories(target / (".global_step6.partial-" + id));
    spill(target / (".global_step6.partial-" + id) / "plan", "{}");
    const std::string line = commandOf(words, 6, "refused");
    CAPTURE(line);
    CHECK(line.ends_with(" --restart"));
    CHECK(pasted(line).exitCode == 0);
    CHECK(fs::exists(target / "latest"));
}

namespace {

/// Checkpoints with something wrong.
void makeBroken(const TemporaryFolder& folder)
{
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path other = folder / "other";
    fs::copy(samplePath("zero3-w4"), other, fs::copy_options::recursive);
    const std::string plan = folder / "plan.json";
    const std::string stale = folder / "stale.json";
    REQUIRE(runShardscope({"plan", "reshard", other, folder / "p", "-w", "2", "-o", plan}).exitCode == 0);
    REQUIRE(runShardscope({"plan", "reshard", run, folder / "q", "-w", "3", "-o", stale}).exitCode == 0);
    const fs::path model = run / "global_step6/mp_rank_00_model_states.pt";
    fs::last_write_time(model, fs::last_write_time(model) + std::chrono::seconds(9));
    fs::remove(run / "global_step3/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    fs::rename(other / "global_step5", other / "-dashed");
    spill(other / "latest", "-dashed");
    fs::copy(samplePath("zero2-w2"), folder / "-run", fs::copy_options::recursive);
    fs::create_directory(folder / "empty");
    spill(folder / "text", "no checkpoint");
    REQUIRE(runShardscope({"reshard", run, folder / "parts", "-w", "3", "--part", "0/2"}).exitCode == 0);
}

std::vector<Words> failingCalls(const TemporaryFolder& folder)
{
    const fs::path run = folder / "zero2-w2";
    const std::string plan = folder / "plan.json";
    const std::string stale = folder / "stale.json";
    const std::string out = folder / "out";
    return {
        {"params", run, "--tag", "global_step3"},
        {"params", run, "--tag", "global_step4"},
        {"reshard", run, out, "-w", "3", "--tag", "global_step3"},
        {"reshard", run, run / "in", "-w", "3"},
        {"export", run, out, "--tag", "global_step3"},
        {"verify", run, "--against", folder / "empty"},
        {"diff", samplePath("zero2-w2"), run, "--tag", "global_step9"},
        {"diff", samplePath("zero2-w2"), folder / "empty"},
        {"diff", run, folder / "text"},
        {"run", plan},
        {"run", stale},
        {"run", folder / "text"},
        {"run", folder / "absent"},
        {"check", folder / "empty"},
        {"check", folder / "text"},
        {"tags", folder / "empty"},
        {"clean", folder / "absent"},
        {"ensure", folder / "empty", "-w", "2"},
        {"ensure", run, "-w", "0"},
        {"inspect", folder / "absent"},
        {"show", run, "nothing"},
        {"show", run, "dp9.tp0.pp0/group0+1"},
        {"layout", run, "--rank", "dp9"},
        {"layout", run, "--param", "nothing"},
        {"stats", run, "nothing"},
        {"reshard", run, folder / "parts", "-w", "3", "--finish", "--restart"},
        {"reshard", run, folder / "parts", "-w", "3", "--part", "1/2", "--restart"},
        {"reshard", run, folder / "parts", "-w", "3", "--part", "1/2", "--finish"},
        {"reshard", run, folder / "parts", "-w", "3", "--part", "1/3"},
        {"reshard", run, folder / "parts", "-w", "3", "--finish"},
        {"reshard", run, out, "-w", "3", "--sha256", "--part", "0/2"},
        {"reshard", samplePath("zenflow-w2"), out, "-w", "2", "--tp", "2"},
        {"reshard", run, out, "-w", "3", "--patterns", folder / "text"},
        {"reshard", run, out, "-w", "3", "--tp", "2"},
        {"reshard", run, out, "-w", "3", "--ep", "2"},
        {"reshard", run, out, "-w", "7", "--pp", "2"},
        {"reshard", run, out, "-w", "3", "--stage", "9"},
        {"reshard", run, out, "-w", "3", "--sub-group-size", "8"},
        {"convert", run, out, "--to", "universal", "--tag", "global_step3"},
        {"export", run, out, "--format", "adapter"},
        {"export", run, out, "--states", "nothing"},
        {"repair", run, out, "--fix", "rank-missing"},
        {"repair", run, out, "--from", folder / "empty"},
        {"skeleton", run, out},
        {"skeleton", run, run / "s.zip"},
        {"fingerprint", run, "--tag", "global_step3"},
        {"plan", "reshard", run, out, "-w", "3", "--tag", "global_step3", "-o", folder / "x.json"},
        {"inspect", run, "--log-file", run / "log"},
    };
}

} // namespace

TEST_CASE("no error names a command that the program refuses as misuse")
{
    const TemporaryFolder folder;
    makeBroken(folder);
    for (Words words : failingCalls(folder)) {
        words.insert(words.begin(), "--json");
        const ProcessResult result = runShardscope(words);
        const Json error = Json::parse(result.out, nullptr, false);
        if (!error.is_object() || !error.contains("command") || !error.at("command").is_string())
            continue; // an answer, or a hint that has the command
        std::string asked;
        for (const std::string& word : words)
            asked += word + " ";
        const std::string line = error.at("command").get<std::string>();
        CAPTURE(asked);
        CAPTURE(error.dump());
        const ProcessResult next = pasted("cd " + folder.path().string() + " && " + line);
        CHECK_MESSAGE((next.exitCode != 2 && next.exitCode != 4 && next.exitCode != 127), next.err);
        // And it leads on: it does not fail in the same way.
        CHECK(next.err.find(error.at("message").get<std::string>()) == std::string::npos);
    }
    // A path that looks like an option stays a path.
    const ProcessResult dashed
        = pasted("cd " + folder.path().string() + " && shardscope --json params --tag x -- -run");
    CHECK(Json::parse(dashed.out).at("command") == "shardscope tags ./-run");
}

TEST_CASE("the text form has the same line")
{
    const ProcessResult result = runShardscope({"inspekt", samplePath("zero3-w4").string()});
    CHECK(result.err.find("  run: shardscope inspect ") != std::string::npos);
}

TEST_CASE("an interrupted job leads to the same command, which keeps what was written")
{
    const TemporaryFolder folder;
    const fs::path target = folder / "out";
    Words words{"reshard", samplePath("zero2-w2").string(), target.string(), "-w", "3", "--bwlimit", "30K"};
    Words all{programPath(), "--json"};
    all.insert(all.end(), words.begin(), words.end());
    Process process(all);
    const auto hasWorkFolder = [&] {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(target, error)) {
            if (fs::exists(entry.path() / "plan"))
                return true;
        }
        return false;
    };
    while (!hasWorkFolder())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    process.signal(SIGINT);
    const ProcessResult result = process.wait();
    CHECK(result.exitCode == 130);
    const std::string line = Json::parse(result.out).at("command").get<std::string>();
    CAPTURE(line);
    CHECK(line.find("--restart") == std::string::npos);
    CHECK(line.find("reshard") != std::string::npos);
}

TEST_CASE("after a wrong value, the command is the help of the command that was meant")
{
    const std::string run = samplePath("zero2-w2");
    CHECK(commandOf({"reshard", run, "out", "--world-size", "three"}, 2, "usage")
        == "shardscope reshard --help");
    CHECK(commandOf({"plan", "reshard", run, "out", "-w", "x", "-o", "f"}, 2, "usage")
        == "shardscope plan reshard --help");
    CHECK(commandOf({"export", run, "out", "--dtype", "fp64"}, 2, "usage") == "shardscope export --help");
}
