// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/clean.h"
#include "core/engine/write/lease.h"
#include "core/engine/write/part_run.h"
#include "core/io/forwarding_file_system.h"
#include "tests/core/engine/execute_fixture.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;
using namespace std::chrono_literals;

namespace {

/// A machine with a lock manager of its own, as on a file system whose locks do not reach other machines.
class OtherMachine : public io::ForwardingFileSystem
{
public:
    OtherMachine()
        : io::ForwardingFileSystem(io::realFileSystem())
    {
    }
    Result<std::unique_ptr<io::FileLock>> lock(const io::Path& path, io::LockKind) override
    {
        (void)appendSynced(path, {});
        return std::unique_ptr<io::FileLock>(std::make_unique<io::FileLock>());
    }
    Result<std::unique_ptr<io::WriteFile>> create(const io::Path& path, uint32_t mode) override
    {
        while (held && path.string().find("/files/") != std::string::npos) {
            isWaiting = true;
            std::this_thread::sleep_for(5ms);
        }
        auto file = io::ForwardingFileSystem::create(path, mode);
        while (heldAfter && path.string().find("/files/") != std::string::npos) {
            isWaiting = true;
            std::this_thread::sleep_for(5ms);
        }
        return file;
    }
    Result<std::unique_ptr<io::WriteFile>> openShared(const io::Path& path, uint32_t mode) override
    {
        while (held && path.string().find("/files/") != std::string::npos) {
            isWaiting = true;
            std::this_thread::sleep_for(5ms);
        }
        return io::ForwardingFileSystem::openShared(path, mode);
    }
    std::atomic<bool> held = false; ///< before it creates an output file
    std::atomic<bool> heldAfter = false;
    std::atomic<bool> isWaiting = false;
};

LeaseOptions of(const std::string& machine)
{
    return {.machine = machine, .host = "host-" + machine, .renewal = 30ms, .expiry = 400ms};
}

/// `waits`: how often it began to wait for an expiry.
Result<std::unique_ptr<Lease>> take(
    const io::Path& folder, const std::string& machine, bool isLocked = false, int* waits = nullptr)
{
    JobContext job({}, {}, [&](std::string_view) {
        if (waits)
            ++*waits;
    });
    return Lease::take(io::realFileSystem(), folder, isLocked, of(machine), job);
}

ErrorCode codeOf(const Result<std::unique_ptr<Lease>>& lease)
{
    return lease ? ErrorCode::Internal : lease.error().code;
}

} // namespace

TEST_CASE("a lease that is renewed excludes others, on this machine and elsewhere")
{
    const TemporaryFolder folder;
    const auto first = take(folder.path(), "a");
    REQUIRE(first);
    const auto other = take(folder.path(), "b");
    CHECK(codeOf(other) == ErrorCode::Busy);
    CHECK(other.error().message.find("host-a") != std::string::npos);
    CHECK(codeOf(take(folder.path(), "a")) == ErrorCode::Busy); // without a lock that says more
    CHECK((*first)->check());
    CHECK(Lease::holder(io::realFileSystem(), folder.path(), true, of("b")) == "host-a");
    CHECK(Lease::holder(io::realFileSystem(), folder.path(), true, of("a")).empty());
}

TEST_CASE("a lease names this start of this machine")
{
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    REQUIRE(boot.size() == 36);
    const TemporaryFolder folder;
    JobContext job;
    const auto lease = Lease::take(io::realFileSystem(), folder.path(), false, {}, job);
    REQUIRE(lease);
    bool isNamed = false;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
        isNamed = isNamed
            || (entry.is_regular_file() && slurp(entry.path()).find(' ' + boot + ' ') != std::string::npos);
    CHECK(isNamed);
}

TEST_CASE("a lease that was given back is taken at once")
{
    const TemporaryFolder folder;
    REQUIRE(take(folder.path(), "a"));
    CHECK(Lease::holder(io::realFileSystem(), folder.path(), true, of("b")).empty());
    int waits = 0;
    CHECK(take(folder.path(), "b", false, &waits));
    CHECK(waits == 0);
}

TEST_CASE("a process that died is succeeded at once on its machine, and after the expiry elsewhere")
{
    const TemporaryFolder folder;
    const auto first = take(folder.path(), "a");
    REQUIRE(first);
    (*first)->forget(); // as when it dies
    int waits = 0;
    const auto second = take(folder.path(), "a", true, &waits);
    REQUIRE(second);
    CHECK(waits == 0);
    CHECK((*first)->check().error().code == ErrorCode::Busy); // if it was only stopped, it learns now
    (*second)->forget();
    const auto later = std::chrono::steady_clock::now();
    const auto third = take(folder.path(), "b", false, &waits);
    REQUIRE(third);
    CHECK(waits == 1);
    CHECK(std::chrono::steady_clock::now() - later >= 400ms);
    CHECK((*third)->check());
    CHECK_FALSE((*second)->check());
}

TEST_CASE("of many that wait for an expiry, one succeeds")
{
    const TemporaryFolder folder;
    for (int round = 0; round < 5; ++round) {
        {
            const auto dead = take(folder.path(), "dead", true);
            REQUIRE(dead);
            (*dead)->forget();
        }
        std::vector<std::unique_ptr<Lease>> held(8);
        std::vector<std::thread> threads;
        for (size_t i = 0; i < held.size(); ++i)
            threads.emplace_back([&, i] {
                if (auto lease = take(folder.path(), "m" + std::to_string(i)))
                    held[i] = std::move(*lease);
            });
        for (std::thread& thread : threads)
            thread.join();
        CHECK(std::ranges::count_if(held, [](const auto& lease) { return lease != nullptr; }) == 1);
    }
}

TEST_CASE("a renewal that fails once is not the last one")
{
    struct Failing : io::ForwardingFileSystem {
        Failing()
            : io::ForwardingFileSystem(io::realFileSystem())
        {
        }
        Result<std::string> readSmall(const io::Path& path, uint64_t limit) override
        {
            if (fails.exchange(false))
                return fail(ErrorCode::Unreadable, "the server does not answer", path.string());
            return io::ForwardingFileSystem::readSmall(path, limit);
        }
        std::atomic<bool> fails = false;
    } files;
    const TemporaryFolder folder;
    JobContext job;
    const auto lease = Lease::take(files, folder.path(), true, of("a"), job);
    REQUIRE(lease);
    files.fails = true;
    while (files.fails)
        std::this_thread::sleep_for(5ms);
    CHECK(codeOf(take(folder.path(), "b")) == ErrorCode::Busy);
}

TEST_CASE("a lease without a holder's name, as one that died while it was made, is not waited for long")
{
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "lease");
    spill(folder / "lease/7", "");
    CHECK(take(folder.path(), "a"));
    CHECK(std::filesystem::exists(folder / "lease/8"));
}

TEST_CASE("of two machines with one target, one works; the other continues when that one dies")
{
    Bench bench;
    OtherMachine a;
    OtherMachine b;
    ExecuteOptions options = bench.options();
    a.held = true;
    options.lease = of("a");
    std::thread first([&] {
        JobContext job;
        const auto report = runPlan(a, bench.plan, options, modelHooks(bench.plan), job);
        CHECK_MESSAGE(report, (report ? std::string() : describe(report.error())));
    });
    while (!a.isWaiting)
        std::this_thread::sleep_for(1ms);
    ExecuteOptions others = bench.options();
    others.lease = of("b");
    JobContext job;
    const auto busy = runPlan(b, bench.plan, others, modelHooks(bench.plan), job);
    REQUIRE_FALSE(busy);
    CHECK(busy.error().code == ErrorCode::Busy);
    CHECK(isWorkFolderInUse(b, bench.work()));
    checkNothingCommitted(bench);
    a.held = false;
    first.join();
    checkComplete(bench);
}

TEST_CASE("a machine that was stopped for too long publishes nothing after another took its job over")
{
    Bench bench;
    OtherMachine a;
    OtherMachine b;
    ExecuteOptions options = bench.options();
    a.heldAfter = true;
    options.lease = of("a");
    options.lease.renewal = 1h; // it does not look alive
    Result<ExecuteReport> late = fail(ErrorCode::Internal, "not run");
    std::thread first([&] {
        JobContext job;
        late = runPlan(a, bench.plan, options, modelHooks(bench.plan), job);
    });
    while (!a.isWaiting)
        std::this_thread::sleep_for(1ms);
    ExecuteOptions others = bench.options();
    others.lease = of("b");
    b.heldAfter = true; // so that both are at work when the first one goes on
    std::thread second([&] {
        JobContext job;
        const auto report = runPlan(b, bench.plan, others, modelHooks(bench.plan), job);
        CHECK_MESSAGE(report, (report ? std::string() : describe(report.error())));
    });
    while (!b.isWaiting)
        std::this_thread::sleep_for(1ms);
    a.heldAfter = false;
    first.join();
    CHECK_FALSE(late);
    checkNothingCommitted(bench);
    b.heldAfter = false;
    second.join();
    checkComplete(bench);
}

TEST_CASE("of two machines with one part of a job one works, and nobody takes the whole job meanwhile")
{
    Bench bench;
    OtherMachine a;
    OtherMachine b;
    ExecuteOptions options = bench.options();
    options.pieces = {.cutBytes = 96, .pieceBytes = 400};
    ExecuteOptions others = options;
    options.lease = of("a");
    others.lease = of("b");
    JobContext job;
    a.held = true;
    std::thread first([&] {
        JobContext own;
        const auto report = executePart(a, bench.plan, {0, 2}, options, own);
        CHECK_MESSAGE(report, (report ? std::string() : describe(report.error())));
    });
    while (!a.isWaiting)
        std::this_thread::sleep_for(1ms);
    const auto same = executePart(b, bench.plan, {0, 2}, others, job);
    REQUIRE_FALSE(same);
    CHECK(same.error().code == ErrorCode::Busy);
    const auto other = executePart(b, bench.plan, {1, 2}, others, job);
    CHECK_MESSAGE(other, (other ? std::string() : describe(other.error())));
    const auto whole = runPlan(b, bench.plan, others, modelHooks(bench.plan), job);
    REQUIRE_FALSE(whole);
    CHECK(whole.error().code == ErrorCode::Busy);
    CHECK(isWorkFolderInUse(b, bench.work()));
    checkNothingCommitted(bench);
    a.held = false;
    first.join();
    others.finish = true;
    const auto finished = runPlan(b, bench.plan, others, modelHooks(bench.plan), job);
    CHECK_MESSAGE(finished, (finished ? std::string() : describe(finished.error())));
    checkComplete(bench);
}

TEST_CASE("a part of a machine that died is taken over by another one")
{
    Bench bench;
    OtherMachine a;
    OtherMachine b;
    ExecuteOptions options = bench.options();
    options.pieces = {.cutBytes = 96, .pieceBytes = 400};
    ExecuteOptions others = options;
    options.lease = of("a");
    options.lease.renewal = 1h; // as when it is dead
    others.lease = of("b");
    a.held = true;
    Result<PartReport> late = fail(ErrorCode::Internal, "not run");
    std::thread first([&] {
        JobContext own;
        late = executePart(a, bench.plan, {0, 2}, options, own);
    });
    while (!a.isWaiting)
        std::this_thread::sleep_for(1ms);
    JobContext job;
    CHECK(executePart(b, bench.plan, {0, 2}, others, job));
    a.held = false; // it was not dead: it writes the same bytes, and records nothing any more
    first.join();
    CHECK_FALSE(late);
    CHECK(executePart(b, bench.plan, {1, 2}, others, job));
    others.finish = true;
    CHECK(runPlan(b, bench.plan, others, modelHooks(bench.plan), job));
    checkComplete(bench);
}

TEST_CASE("a part that goes on writing after others have published does no harm")
{
    /// Writes of output files wait.
    class HeldWrites final : public OtherMachine
    {
    public:
        class File final : public io::ForwardingWriteFile
        {
        public:
            File(HeldWrites& all, std::unique_ptr<io::WriteFile> inner)
                : io::ForwardingWriteFile(std::move(inner))
                , m_all(all)
            {
            }
            Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) override
            {
                while (m_all.heldWrites) {
                    m_all.isWaiting = true;
                    std::this_thread::sleep_for(5ms);
                }
                return io::ForwardingWriteFile::writeAt(offset, bytes);
            }

        private:
            HeldWrites& m_all;
        };
        Result<std::unique_ptr<io::WriteFile>> openShared(const io::Path& path, uint32_t mode) override
        {
            SHARDSCOPE_TRY(auto file, OtherMachine::openShared(path, mode));
            return std::unique_ptr<io::WriteFile>(std::make_unique<File>(*this, std::move(file)));
        }
        std::atomic<bool> heldWrites = true;
    };
    for (uint32_t index = 0; index < 3; ++index) {
        CAPTURE(index);
        Bench bench;
        HeldWrites a;
        OtherMachine b;
        ExecuteOptions options = bench.options(4);
        options.pieces = {.cutBytes = 96, .pieceBytes = 1 << 20};
        ExecuteOptions others = options;
        options.lease = of("a");
        options.lease.renewal = 1h; // as when it is dead
        others.lease = of("b");
        std::thread first([&] {
            JobContext own;
            CHECK_FALSE(executePart(a, bench.plan, {index, 3}, options, own));
        });
        while (!a.isWaiting)
            std::this_thread::sleep_for(1ms);
        JobContext job;
        for (uint32_t part = 0; part < 3; ++part)
            CHECK(executePart(b, bench.plan, {part, 3}, others, job));
        others.finish = true;
        CHECK(runPlan(b, bench.plan, others, modelHooks(bench.plan), job));
        checkComplete(bench);
        a.heldWrites = false;
        first.join();
        checkComplete(bench);
    }
}
