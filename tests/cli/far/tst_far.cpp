// SPDX-License-Identifier: Apache-2.0
// Checkpoints on another host: every verb gives what it gives there. The host is this machine behind a script
// in place of ssh.
#include "tests/cli/far/far_host_fixture.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// The object without what differs from run to run.
nlohmann::json answer(const ProcessResult& result)
{
    nlohmann::json out = nlohmann::json::parse(result.out);
    out.erase("seconds");
    if (out.contains("results")) {
        for (auto& part : out["results"])
            part.erase("seconds");
    }
    return out;
}

std::string withoutHost(std::string text)
{
    for (size_t at = text.find("node7:"); at != std::string::npos; at = text.find("node7:", at))
        text.erase(at, 6);
    return text;
}

std::vector<Words> readingVerbs(const std::string& path, const std::string& parameter)
{
    return {{"inspect", path}, {"params", path}, {"layout", path}, {"layout", path, "--rank", "dp1"},
        {"files", path, "--records"}, {"show", path, parameter}, {"stats", path}, {"stats", path, "--health"},
        {"fingerprint", path, "--per-parameter"}, {"check", path, "--depth", "bytes"}, {"verify", path},
        {"tags", path}, {"diff", path, path}, {"show", path, "no.such.parameter"},
        {"inspect", path + "/absent"}, {"params", path, "--tag", "absent"}};
}

} // namespace

TEST_CASE("every reading verb gives what it gives on that host")
{
    const Host host;
    for (const std::string& name : kSampleNames) {
        const std::string local = samplePath(name).string();
        const std::string parameter = answerOf({"params", local})["parameters"][0]["name"];
        const auto here = readingVerbs(local, parameter);
        const auto there = readingVerbs(far(local), parameter);
        for (size_t i = 0; i < here.size(); ++i) {
            CAPTURE(here[i]);
            Words asked = here[i];
            asked.emplace_back("--json");
            const ProcessResult expected = runShardscope(asked);
            asked = there[i];
            asked.emplace_back("--json");
            const ProcessResult found = host.run(asked);
            CHECK(found.exitCode == expected.exitCode);
            CHECK(answer(found) == answer(expected));
        }
    }
}

TEST_CASE("an answer for people is the one of that host, too")
{
    const Host host;
    const std::string local = samplePath("zero3-w4").string();
    for (const char* verb : {"inspect", "params", "layout", "files", "fingerprint"}) {
        CAPTURE(verb);
        const ProcessResult expected = runShardscope({verb, local});
        const ProcessResult found = host.run({verb, far(local)});
        CHECK(found.exitCode == expected.exitCode);
        CHECK(found.out == expected.out);
        CHECK(found.err == expected.err);
    }
    const ProcessResult absent = host.run({"inspect", far(local) + "/absent"});
    CHECK(absent.exitCode == 3);
    CHECK(absent.err.find("run: ssh node7 'ls -la ") != std::string::npos);
}

TEST_CASE("with files of other hosts the same comes out")
{
    const Host host;
    for (const std::string& name : kSampleNames) {
        const std::string local = samplePath(name).string();
        const std::string parameter = answerOf({"params", local})["parameters"][0]["name"];
        const auto here = readingVerbs(local, parameter);
        const auto there = readingVerbs(far(local), parameter);
        for (size_t i = 0; i < here.size(); ++i) {
            CAPTURE(here[i]);
            // Such a limit is of this process, so that the other host gives nothing but bytes.
            Words asked = here[i];
            asked.insert(asked.end(), {"--json", "--bwlimit", "100G"});
            const ProcessResult expected = runShardscope(asked);
            asked = there[i];
            asked.insert(asked.end(), {"--json", "--bwlimit", "100G"});
            ProcessResult found = host.run(asked);
            found.out = withoutHost(found.out);
            CHECK(found.exitCode == expected.exitCode);
            if (expected.exitCode == 0)
                CHECK(answer(found) == answer(expected));
        }
    }
}

TEST_CASE("checkpoints here and there are compared, and one from there is resharded here")
{
    const Host host;
    const std::string local = samplePath("zero3-w4").string();
    const ProcessResult same = host.run({"diff", far(local), local, "--json"});
    CHECK(same.exitCode == 0);
    CHECK(nlohmann::json::parse(same.out)["equal"] == true);
    const TemporaryFolder folder;
    const std::string one = (folder / "one").string();
    const std::string other = (folder / "other").string();
    REQUIRE(runShardscope({"reshard", local, one, "-w", "3"}).exitCode == 0);
    const ProcessResult made = host.run({"reshard", far(local), other, "-w", "3"});
    CAPTURE(made.err);
    CHECK(made.exitCode == 0);
    auto expected = contentOf(one);
    auto found = contentOf(other);
    REQUIRE(expected.size() == found.size());
    for (size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(expected[i].first);
        CHECK(found[i].first == expected[i].first);
        CHECK((found[i].second == expected[i].second));
    }
    CHECK(host.run({"verify", other, "--against", far(local)}).exitCode == 0);
    const ProcessResult absent
        = host.run({"reshard", far(local) + "/absent", (folder / "none").string(), "-w", "3"});
    CHECK(absent.exitCode == 3);
    CHECK(absent.err.find("run: ssh node7 'ls -la ") != std::string::npos);
    // A saved plan names the host.
    const std::string plan = (folder / "plan.json").string();
    const std::string third = (folder / "third").string();
    CHECK(host.run({"plan", "reshard", far(local), third, "-w", "3", "-o", plan}).exitCode == 0);
    CHECK(slurp(plan).find(far(local)) != std::string::npos);
    CHECK(host.run({"run", plan}).exitCode == 0);
    CHECK((contentOf(third) == expected));
}

TEST_CASE("a repair on another host is undone there, as a job, and here")
{
    const Host host;
    const fs::path run = host.home() / "llama";
    fs::copy(samplePath("zero2-w2"), run, fs::copy_options::recursive);
    const fs::path tag = slurp(run / "latest");
    const std::string copy = far(host.home() / "repaired");
    CHECK(host.run({"repair", far(run), copy, "--set", "step=9"}).exitCode == 0);
    const ProcessResult there = host.run({"repair", "--undo", copy, far(host.home() / "again")});
    CHECK_MESSAGE(there.exitCode == 0, there.err);
    CHECK(there.err.find("this runs on node7 as job ") != std::string::npos);
    const TemporaryFolder folder;
    const ProcessResult here = host.run({"repair", "--undo", copy, folder / "again"});
    CHECK_MESSAGE(here.exitCode == 0, here.err);
    for (const auto& file : fs::directory_iterator(run / tag)) {
        const fs::path name = tag / file.path().filename();
        CHECK((slurp(host.home() / "again" / name) == slurp(file.path())));
        CHECK((slurp(folder / "again" / name) == slurp(file.path())));
    }
    // The copy records the path of its source as that host has it.
    fs::remove_all(run);
    const auto error
        = nlohmann::json::parse(host.run({"repair", "--undo", copy, folder / "x", "--json"}).out);
    CHECK(error.at("code") == "source-changed");
    CHECK(error.at("path") == far(run));
}

TEST_CASE("a check here of files there fetches no values unless it is asked to")
{
    const Host host;
    const std::string local = samplePath("zero3-w4").string();
    const auto depthOf = [&](Words words) {
        words.emplace_back("--json");
        return nlohmann::json::parse(host.run(words).out)["results"][0]["depth"].get<std::string>();
    };
    CHECK(depthOf({"check", far(local), local}) == "metadata");
    CHECK(depthOf({"check", far(local), local, "--depth", "bytes"}) == "bytes");
    CHECK(depthOf({"check", local}) == "bytes");
    CHECK(depthOf({"check", far(local)}) == "bytes"); // there
}

TEST_CASE("what is read through the connection is said with its reason, and not before an error")
{
    const Host host;
    const TemporaryFolder folder;
    const std::string local = samplePath("zero2-w2").string();
    const auto saidBy = [&](const Words& words) { return host.run(words).err; };
    const std::string said = "values are read from node7 ";
    const std::string several = "because the paths are not all on one host";
    const std::string one = saidBy({"diff", far(local), local});
    CHECK_MESSAGE(one.find(said + "through") != std::string::npos, one);
    CHECK(one.find(several) != std::string::npos);
    const std::string two = saidBy({"diff", far(local), "node:" + local});
    CHECK_MESSAGE(two.find(said + "and node through") != std::string::npos, two);
    CHECK(two.find(several) != std::string::npos);
    // All paths are there.
    const std::string rules = (folder / "rules.json").string();
    spill(rules, "{}");
    const std::string patterns = saidBy({"diff", far(local), far(local), "--patterns", rules});
    CHECK_MESSAGE(
        patterns.find("because --patterns is a file of this machine") != std::string::npos, patterns);
    const std::string parameter = answerOf({"params", local})["parameters"][0]["name"];
    const std::string array
        = saidBy({"show", far(local), parameter, "--npy", (folder / "array.npy").string()});
    CHECK_MESSAGE(array.find("because --npy writes on this machine") != std::string::npos, array);
    CHECK(saidBy({"diff", far(local), far(local)}).find("through") == std::string::npos);
    const std::string absent = saidBy({"diff", "node8:~/x", "node8:~/y"});
    CHECK(absent.find("node8") != std::string::npos);
    CHECK(absent.find("values are read") == std::string::npos);
}

TEST_CASE("ranks of one checkpoint are read from several hosts")
{
    const Host host;
    const TemporaryFolder folder;
    const fs::path first = copySample("zero2-w2", folder);
    const fs::path second = folder / "second";
    fs::copy(first, second, fs::copy_options::recursive);
    const auto removeOf = [](const fs::path& run, const std::string& rank) {
        for (const auto& entry : fs::recursive_directory_iterator(run)) {
            if (entry.path().filename().string().find("zero_pp_rank_" + rank) != std::string::npos)
                fs::remove(entry.path());
        }
    };
    removeOf(first, "1");
    removeOf(second, "0");
    const nlohmann::json whole = answerOf({"fingerprint", samplePath("zero2-w2").string()});
    for (const Words& words : {Words{"fingerprint", far(first), "--root", second.string()},
             Words{"fingerprint", first.string(), "--root", far(second)},
             Words{"fingerprint", far(first), "--root", far(second)}}) {
        CAPTURE(words);
        Words asked = words;
        asked.emplace_back("--json");
        const ProcessResult found = host.run(asked);
        CAPTURE(found.err);
        REQUIRE(found.exitCode == 0);
        CHECK(nlohmann::json::parse(found.out)["fingerprint"] == whole["fingerprint"]);
    }
}

TEST_CASE("a report of a checkpoint there is a file here")
{
    const Host host;
    const TemporaryFolder folder;
    const std::string local = samplePath("zero2-w2").string();
    const std::string report = (folder / "report.html").string();
    CHECK(host.run({"check", far(local), "--html", report}).exitCode == 0);
    CHECK(slurp(report).find("<html") != std::string::npos);
    CHECK(host.run({"check", far(local), "--html", report}).exitCode == 5); // never overwritten
    const ProcessResult printed = host.run({"check", far(local), "--html", "-"});
    CHECK(printed.exitCode == 0);
    CHECK(printed.out.starts_with("<!DOCTYPE html>"));
    CHECK(printed.out.ends_with("</html>\n"));
    CHECK(printed.err.find("found:") != std::string::npos);
    CHECK(host.run({"check", far(local), "--html", "-", "--json"}).exitCode == 2);
    const std::string second = (folder / "second.sarif").string();
    const ProcessResult both = host.run({"check", far(local), "--html", "-", "--sarif", second});
    CHECK(both.out.starts_with("<!DOCTYPE html>"));
    CHECK(nlohmann::json::parse(slurp(second)).contains("runs"));
    const std::string array = (folder / "array.npy").string();
    const std::string parameter = answerOf({"params", local})["parameters"][0]["name"];
    const std::string expected = (folder / "expected.npy").string();
    REQUIRE(runShardscope({"show", local, parameter, "--npy", expected}).exitCode == 0);
    CHECK(host.run({"show", far(local), parameter, "--npy", array}).exitCode == 0);
    CHECK((slurp(array) == slurp(expected)));
}

TEST_CASE("a saved plan with a target on another host is refused by name")
{
    const Host host;
    const TemporaryFolder folder;
    const std::string plan = (folder / "plan.json").string();
    const std::string target = (folder / "out").string();
    REQUIRE(runShardscope({"plan", "reshard", samplePath("zero2-w2").string(), target, "-w", "3", "-o", plan})
                .exitCode
        == 0);
    std::string text = slurp(plan);
    const std::string named = '"' + target + '"';
    const size_t at = text.find(named);
    REQUIRE(at != std::string::npos);
    spill(plan, text.replace(at, named.size(), '"' + far(target) + '"'));
    const ProcessResult run = host.run({"run", plan});
    CHECK(run.exitCode == 4);
    CHECK(run.err.find("is not on this machine") != std::string::npos);
    CHECK(!fs::exists(target));
}

TEST_CASE("paths without a slash are below the home folder there")
{
    const Host host;
    fs::create_directories(host.home() / "runs");
    fs::copy(samplePath("zero2-w2"), host.home() / "runs/llama", fs::copy_options::recursive);
    for (const char* path : {"node7:runs/llama", "node7:~/runs/llama"}) {
        CAPTURE(path);
        const ProcessResult found = host.run({"inspect", path, "--json"});
        CHECK(found.exitCode == 0);
        const ProcessResult limited = host.run({"inspect", path, "--json", "--bwlimit", "100G"});
        CHECK(limited.exitCode == 0);
    }
    CHECK(host.run({"tags", "node7:", "--json"}).exitCode == 0); // a folder of runs
}

TEST_CASE("nothing of this machine is written there, and files of the command line are of this machine")
{
    const Host host;
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const auto before = contentOf(folder.path());
    const std::string local = run.string();
    for (const Words& words : {Words{"reshard", local, far(folder / "out"), "-w", "3"},
             Words{"ensure", local, "-w", "3", "--into", far(folder / "out")}}) {
        CAPTURE(words);
        CHECK(host.run(words).exitCode == 4); // tst_far_jobs.cpp has more
    }
    for (const Words& words : {Words{"run", far(folder / "plan.json")},
             Words{"check", local, "--html", far(folder / "report.html")},
             Words{"inspect", local, "--log-file", far(folder / "log")},
             Words{"skeleton", local, far(folder / "skeleton.zip")}}) {
        CAPTURE(words);
        const ProcessResult refused = host.run(words);
        CHECK(refused.exitCode == 4);
        CHECK(refused.err.find("takes only a path of this machine") != std::string::npos);
    }
    CHECK(contentOf(folder.path()) == before);
}
