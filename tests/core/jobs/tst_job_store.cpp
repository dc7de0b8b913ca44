// SPDX-License-Identifier: Apache-2.0
// Records of detached jobs.
#include "core/io/forwarding_file_system.h"
#include "core/jobs/job_store.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

using namespace shardscope;
using namespace shardscope::jobs;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

struct Store {
    TemporaryFolder folder;
    JobStore store{io::realFileSystem(), folder / "cache/jobs"};

    std::string add(const std::string& word) const
    {
        const auto record = store.add({.words = {word}});
        REQUIRE(record.has_value());
        return record->id;
    }
    std::string ended(const std::string& word, uint32_t exit) const
    {
        const std::string id = add(word);
        REQUIRE(store.writeEnd(id, {exit, timeNow()}).has_value());
        return id;
    }
    [[nodiscard]] JobState stateOf(const std::string& id) const { return store.entry(id)->state; }
};

/// As on file systems that have no locks.
class WithoutLocks final : public io::ForwardingFileSystem
{
public:
    WithoutLocks()
        : ForwardingFileSystem(io::realFileSystem())
    {
    }
    Result<std::unique_ptr<io::FileLock>> lock(const io::Path& /*path*/, io::LockKind /*kind*/) override
    {
        return std::unique_ptr<io::FileLock>();
    }
};

volatile std::sig_atomic_t interrupts = 0;

/// Counts SIGINT to this process instead of ending it.
struct CountedInterrupts {
    CountedInterrupts()
    {
        interrupts = 0;
        before = std::signal(SIGINT, [](int) { interrupts = interrupts + 1; });
    }
    ~CountedInterrupts() { (void)std::signal(SIGINT, before); }
    CountedInterrupts(const CountedInterrupts&) = delete;
    CountedInterrupts& operator=(const CountedInterrupts&) = delete;

    void (*before)(int) = SIG_DFL;
};

} // namespace

TEST_CASE("a job's record says whether it runs, was interrupted, or has ended")
{
    const Store jobs;
    const std::string id = jobs.add("first \xff word");
    CHECK(jobs.store.entry(id)->record.words == std::vector<std::string>{"first \xff word"});
    CHECK(jobs.stateOf(id) == JobState::Interrupted);
    {
        const auto lock = jobs.store.lock(id);
        REQUIRE(lock.has_value());
        CHECK(jobs.stateOf(id) == JobState::Running);
        CHECK(jobs.store.forget(id).error().code == ErrorCode::Busy);
        CHECK(jobs.store.lock(id).error().code == ErrorCode::Busy);
    }
    CHECK(jobs.stateOf(id) == JobState::Interrupted);
    REQUIRE(jobs.store.writeEnd(id, {130, 1}).has_value());
    CHECK(jobs.stateOf(id) == JobState::Interrupted);
    REQUIRE(jobs.store.writeEnd(id, {1, 1}).has_value());
    CHECK(jobs.stateOf(id) == JobState::Ended);
    CHECK(jobs.store.stop(id).error().code == ErrorCode::Usage);
    CHECK(fs::status(jobs.folder / "cache/jobs").permissions() == fs::perms::owner_all);
    CHECK(fs::status(jobs.folder / "cache/jobs" / id).permissions() == fs::perms::owner_all);
    REQUIRE(jobs.store.forget(id).has_value());
    CHECK(jobs.store.entry(id).error().code == ErrorCode::NotFound);
}

TEST_CASE("the same command takes the record of its failure again, and the oldest ended jobs are removed")
{
    const Store jobs;
    const std::string failed = jobs.ended("failed", 5);
    CHECK(jobs.add("failed") == failed);
    const std::string left = jobs.add("interrupted");
    for (int i = 0; i < 60; ++i)
        CHECK(jobs.ended("done", 0) != failed);
    CHECK(jobs.store.all()->size() == 51);
    CHECK(jobs.add("interrupted") == left);
}

TEST_CASE("a job of another machine with the same home folder is left alone")
{
    const Store jobs;
    const std::string id = jobs.add("word");
    JobRecord record = jobs.store.entry(id)->record;
    record.machine = "another machine";
    REQUIRE(jobs.store.writeRecord(record).has_value());
    CHECK(jobs.stateOf(id) == JobState::Elsewhere);
    CHECK(jobs.store.stop(id).error().code == ErrorCode::Usage);
    CHECK(jobs.store.forget(id).error().code == ErrorCode::Usage);
}

TEST_CASE("links, other names and damaged records are no jobs")
{
    const Store jobs;
    const std::string id = jobs.add("word");
    const fs::path folder = jobs.folder / "cache/jobs";
    fs::create_directory_symlink(folder / id, folder / "0000000a");
    fs::create_directories(folder / "no id");
    fs::create_directories(folder / "0000000b");
    std::ofstream(folder / "0000000b/job.json") << "{}";
    fs::create_directories(folder / "0000000c");
    fs::create_symlink(folder / id / "job.json", folder / "0000000c/job.json");
    CHECK(jobs.store.all()->size() == 1);
    for (const char* other : {"0000000a", "no id", "0000000b", "0000000c", "../jobs", "", ".."})
        CHECK_FALSE(jobs.store.entry(other).has_value());
    // A job that was started again has a shorter file, or none yet.
    std::ofstream(folder / id / "messages") << "short";
    CHECK(jobs.store.bytesOf(id, job_file::kMessages, 2).value() == "ort");
    CHECK(jobs.store.bytesOf(id, job_file::kMessages, 11).value().empty());
    fs::remove(folder / id / "messages");
    CHECK(jobs.store.bytesOf(id, job_file::kMessages, 11).value().empty());
    fs::create_symlink("/etc/passwd", folder / id / "messages");
    CHECK(jobs.store.bytesOf(id, job_file::kMessages, 0)->empty());
    const JobStore none(io::realFileSystem(), io::Path());
    CHECK(none.all()->empty());
    CHECK_FALSE(none.add({.words = {"word"}}).has_value());
}

TEST_CASE("a job's process is told from a later one with its number")
{
    const Store jobs;
    WithoutLocks files;
    const JobStore unlocked(files, jobs.folder / "cache/jobs");
    const CountedInterrupts counted;
    const auto own = static_cast<uint32_t>(::getpid());
    const auto start = startOfProcess(own);
    REQUIRE(start.has_value());
    JobRecord record = jobs.store.entry(jobs.add("word"))->record;
    const auto becomes = [&](uint32_t process, uint64_t began) {
        record.process = process;
        record.processStart = began;
        REQUIRE(jobs.store.writeRecord(record).has_value());
    };
    for (const auto& [process, began] :
        std::vector<std::pair<uint32_t, uint64_t>>{{own, *start + 1}, {own, 0}, {0, 0}, {0, *start}, {1, 1},
            {std::numeric_limits<uint32_t>::max(), *start}, {uint32_t{1} << 31, *start}}) {
        CAPTURE(process);
        CAPTURE(began);
        becomes(process, began);
        CHECK(unlocked.entry(record.id)->state == JobState::Interrupted);
        CHECK(unlocked.stop(record.id).error().code == ErrorCode::Usage);
        const auto lock = jobs.store.lock(record.id); // so that it counts as running
        REQUIRE(lock.has_value());
        const Status stopped = jobs.store.stop(record.id);
        REQUIRE_FALSE(stopped.has_value());
        CHECK(stopped.error().code == ErrorCode::WriteFailed);
        CHECK(stopped.error().message.find("does not name its process") != std::string::npos);
    }
    CHECK(interrupts == 0);
    becomes(own, *start);
    CHECK(unlocked.entry(record.id)->state == JobState::Running);
    CHECK(unlocked.stop(record.id).has_value());
    CHECK(interrupts == 1);
}
