// SPDX-License-Identifier: Apache-2.0
// Leftovers of interrupted jobs: their report, `clean`, and what a failed job must not leave.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// Runs the program with files of at most 1 KiB, so that a job fails while it writes and keeps its work
/// folder.
ProcessResult runWithSmallFiles(const Words& words)
{
    Words all{"/bin/bash", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "bash", programPath()};
    all.insert(all.end(), words.begin(), words.end());
    return runProcess(all);
}

fs::path workFolderIn(const fs::path& folder)
{
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().filename().string().find(".partial-") != std::string::npos)
            return entry.path();
    }
    return {};
}

/// The work folder of a reshard that failed.
fs::path abandonedReshard(const fs::path& out, const std::string& worldSize)
{
    const ProcessResult failed
        = runWithSmallFiles({"reshard", samplePath("zero2-w2"), out, "-w", worldSize, "--force"});
    CHECK(failed.exitCode == 5);
    const fs::path work = workFolderIn(out);
    REQUIRE(!work.empty());
    REQUIRE(fs::exists(work / "journal"));
    return work;
}

/// The lock that a running job holds on its work folder.
class HeldLock
{
public:
    explicit HeldLock(const fs::path& work)
        : m_file(::open((work / "lock").c_str(), O_RDWR | O_CLOEXEC))
    {
        REQUIRE(::flock(m_file, LOCK_EX | LOCK_NB) == 0);
    }
    ~HeldLock() { ::close(m_file); }
    HeldLock(const HeldLock&) = delete;
    HeldLock& operator=(const HeldLock&) = delete;

private:
    int m_file;
};

const Json* workFinding(const Json& findings)
{
    const auto found = std::find_if(findings.begin(), findings.end(),
        [](const Json& entry) { return entry.at("code") == "work-folder"; });
    return found == findings.end() ? nullptr : &*found;
}

} // namespace

TEST_CASE("clean lists an abandoned work folder, and removes it only with --remove")
{
    const TemporaryFolder folder;
    CHECK(answerOf({"clean", folder.path()}).at("work").empty());
    const fs::path work = abandonedReshard(folder / "out", "3");
    const Json listed = answerOf({"clean", folder / "out"}).at("work");
    REQUIRE(listed.size() == 1);
    CHECK(listed[0].at("path") == work.string());
    CHECK(listed[0].at("state") == "abandoned");
    CHECK(listed[0].at("kind") == "folder");
    CHECK(listed[0].at("bytes") > 0);
    CHECK(listed[0].at("age_seconds") < 600);
    CHECK(fs::exists(work));
    const ProcessResult text = runShardscope({"clean", folder / "out"});
    CHECK(text.out.find(work.string()) != std::string::npos);
    CHECK(text.out.find("--remove") != std::string::npos);

    CHECK(answerOf({"clean", folder / "out", "--remove"}).at("work")[0].at("state") == "removed");
    CHECK(!fs::exists(work));
    CHECK(answerOf({"clean", folder / "out", "--remove"}).at("work").empty());
    errorOf({"clean", folder / "absent"}, 3, "not-found");
}

TEST_CASE("clean never removes what a running job uses")
{
    const TemporaryFolder folder;
    const fs::path work = abandonedReshard(folder / "out", "3");
    const fs::path ofThisProcess = folder / ("out/.a.json.partial-" + std::to_string(::getpid()) + "-0");
    spill(ofThisProcess, "{");
    const auto before = contentOf(folder / "out");
    {
        const HeldLock lock(work);
        const Json removed = answerOf({"clean", folder / "out", "--remove"});
        for (const Json& entry : removed.at("work"))
            CHECK(entry.at("state") == "in-use");
    }
    CHECK(contentOf(folder / "out") == before);
}

TEST_CASE("clean removes temporary files of reports whose process has ended")
{
    const TemporaryFolder folder;
    spill(folder / ".a.json.partial-2147483646-0", "{");
    spill(folder / "kept", "x");
    const Json removed = answerOf({"clean", folder.path(), "--remove"}).at("work");
    REQUIRE(removed.size() == 1);
    CHECK(removed[0].at("kind") == "file");
    CHECK(removed[0].at("target") == "a.json");
    CHECK(fs::exists(folder / "kept"));
    CHECK(!fs::exists(folder / ".a.json.partial-2147483646-0"));
}

TEST_CASE("clean ignores folders with such a name but other content, and follows no links")
{
    const TemporaryFolder folder;
    const std::string id = ".partial-0123456789abcdef";
    fs::create_directories(folder / ("run/.foreign" + id));
    spill(folder / ("run/.foreign" + id) / "notes.txt", "mine");
    fs::create_directories(folder / ("run/.mixed" + id));
    for (const char* name : {"lock", "journal", "plan", "notes.txt"})
        spill(folder / ("run/.mixed" + id) / name, "mine");
    fs::create_directories(folder / ("run/.empty" + id));
    fs::create_directories(folder / "elsewhere");
    spill(folder / "elsewhere/lock", "");
    spill(folder / "elsewhere/journal", "");
    fs::create_directory_symlink(folder / "elsewhere", folder / ("run/.link" + id));
    fs::create_symlink(folder / "elsewhere/lock", folder / "run/.b.json.partial-2147483646-0");
    const auto before = contentOf(folder.path());
    const Json links = answerOf({"clean", folder / "run", "--remove"}).at("work");
    REQUIRE(links.size() == 2);
    for (const Json& link : links) {
        CHECK(link.at("kind") == "link");
        CHECK(link.at("state") == "foreign");
        CHECK(link.at("age_seconds").is_null());
    }
    // They are not looked into, so that neither their size nor their age is known.
    const std::string listed = runShardscope({"clean", folder / "run"}).out;
    CHECK(listed.find(" days") == std::string::npos);
    CHECK(listed.find("0 B") == std::string::npos);
    CHECK(contentOf(folder.path()) == before);

    const fs::path work = abandonedReshard(folder / "out", "3");
    fs::create_directory_symlink(folder / "elsewhere", work / "files/link");
    CHECK(answerOf({"clean", folder / "out", "--remove"}).at("work")[0].at("state") == "removed");
    CHECK(fs::exists(folder / "elsewhere/journal"));
}

TEST_CASE("clean keeps half-published work")
{
    const TemporaryFolder folder;
    const fs::path work = abandonedReshard(folder / "out", "3");
    spill(work / "publishing", "");
    const Json kept = answerOf({"clean", folder / "out", "--remove"}).at("work");
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].at("state") == "half-published");
    CHECK(fs::exists(work / "journal"));
    CHECK(runShardscope({"clean", folder / "out"}).out.find("Run the same command again to complete it")
        != std::string::npos);
}

TEST_CASE("inspect and check name an abandoned work folder with its size")
{
    const TemporaryFolder folder;
    answerOf({"reshard", samplePath("zero2-w2"), folder / "out", "-w", "3"});
    CHECK(workFinding(answerOf({"inspect", folder / "out"}).at("findings")) == nullptr);
    const fs::path work = abandonedReshard(folder / "out", "2");
    const Json inspected = answerOf({"inspect", folder / "out"}).at("findings");
    const Json checked = answerOf({"check", folder / "out"}).at("results")[0].at("findings");
    for (const Json* findings : {&inspected, &checked}) {
        const Json* found = workFinding(*findings);
        REQUIRE(found != nullptr);
        CHECK(found->at("severity") == "info");
        CHECK(found->dump().find(work.filename().string()) != std::string::npos);
        REQUIRE(!found->at("evidence").empty());
        CHECK(found->at("evidence")[0].get<std::string>().find("B") != std::string::npos);
    }
    CHECK(runShardscope({"check", "--list"}).out.find("work-folder") != std::string::npos);
}

TEST_CASE("a job says that another job for its target is unfinished or running")
{
    const TemporaryFolder folder;
    const fs::path work = abandonedReshard(folder / "out", "3");
    const Words words{"reshard", samplePath("zero2-w2"), folder / "out", "-w", "4", "--force", "--quiet"};
    CHECK(runShardscope(words).err.empty());
    const Words loud(words.begin(), words.end() - 1);
    const ProcessResult unfinished = runShardscope(loud);
    CHECK(unfinished.exitCode == 0);
    CHECK(unfinished.err.find("is unfinished: " + work.string()) != std::string::npos);
    {
        const HeldLock lock(work);
        const ProcessResult running = runShardscope(loud);
        CHECK(running.exitCode == 0);
        CHECK(running.err.find("is running: " + work.string()) != std::string::npos);
        // The same job is refused while it runs.
        errorOf({"reshard", samplePath("zero2-w2"), folder / "out", "-w", "3", "--force"}, 5, "busy");
    }
    // The job that the work folder belongs to continues without a warning.
    const ProcessResult continued
        = runShardscope({"reshard", samplePath("zero2-w2"), folder / "out", "-w", "3", "--force"});
    CHECK(continued.exitCode == 0);
    CHECK(continued.err.find("is unfinished") == std::string::npos);
    CHECK(!fs::exists(work));
}

TEST_CASE("a job that fails leaves no empty folder that it made")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::path file;
    for (const auto& entry : fs::recursive_directory_iterator(run)) {
        if (entry.path().filename().string().ends_with("optim_states.pt"))
            file = std::max(file, entry.path());
    }
    std::string bytes = slurp(file);
    const size_t middle = bytes.size() / 2;
    bytes[middle] = static_cast<char>(bytes[middle] ^ 0x55);
    spill(file, bytes);
    fs::create_directory(folder / "there");
    for (const char* verb : {"reshard", "export"}) {
        CAPTURE(verb);
        Words words{verb, run, folder / "deep/absent"};
        if (std::string(verb) == "reshard")
            words.insert(words.end(), {"-w", "3"});
        else
            words.insert(words.end(), {"--states", "fp32,exp_avg,exp_avg_sq"});
        CHECK(runShardscope(words).exitCode == 6);
        CHECK(!fs::exists(folder / "deep"));
        words[2] = folder / "there";
        CHECK(runShardscope(words).exitCode == 6);
        CHECK(fs::is_empty(folder / "there"));
    }
}
