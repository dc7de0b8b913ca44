// SPDX-License-Identifier: Apache-2.0
#include "tests/core/engine/execute_fixture.h"

#include "tests/support/faulting_file_system.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// A file of the target that a forced run replaces: one that DeepSpeed writes.
const std::string kOld = "mp_rank_00_model_states.pt";

using Fault = io::FaultingFileSystem::Fault;

constexpr SyntheticPlan::Shape kSmall{2, 3, 3, 60, 9};

/// The promise after any failure: the target is complete or absent, the pointer names it only if it is
/// complete, the source and other tags are as they were.
struct Promise {
    explicit Promise(const Bench& bench)
        : source(treeOf(bench.plan.sourceRun()))
    {
    }

    void check(const Bench& bench) const
    {
        const bool there = std::filesystem::exists(bench.target());
        if (there) {
            for (const auto& [path, bytes] : bench.plan.expected()) {
                const bool nextToTarget = path.starts_with("../"); // published after the target
                if (!nextToTarget || std::filesystem::exists(bench.target() / path))
                    CHECK(slurp(bench.target() / path) == bytes);
            }
            CHECK(std::filesystem::exists(bench.target() / "shardscope.json"));
        }
        const io::Path pointer = bench.destination() / "latest";
        if (std::filesystem::exists(pointer)) {
            const std::string name = slurp(pointer);
            CHECK((name == "other_tag" || (name == bench.plan.targetName && there)));
            if (name == bench.plan.targetName) // all is in its place
                CHECK(std::filesystem::exists(bench.destination() / "weights.bin"));
        }
        CHECK(slurp(bench.destination() / "other_tag/file") == "other");
        CHECK(treeOf(bench.plan.sourceRun()) == source);
    }

    std::map<std::string, std::string> source;
};

void prepareDestination(const Bench& bench)
{
    std::filesystem::remove_all(bench.destination());
    spill(bench.destination() / "other_tag/file", "other");
    spill(bench.destination() / "latest", "other_tag");
}

/// The same call again, undisturbed.
void checkContinues(const Bench& bench, unsigned jobs)
{
    const auto report = run(bench, bench.options(jobs));
    // If only the last part of the work folder was left, the target is what the caller asked for, and
    // already there.
    if (!report)
        CHECK_MESSAGE(report.error().code == ErrorCode::TargetExists, describe(report.error()));
    checkComplete(bench);
}

/// Fails every call once and returns how many there are.
uint64_t failEveryCall(const Bench& bench, Fault fault)
{
    const Promise promise(bench);
    for (fault.callNumber = 1;; ++fault.callNumber) {
        CAPTURE(fault.callNumber);
        CAPTURE(fault.errnoValue);
        prepareDestination(bench);
        io::FaultingFileSystem files(io::realFileSystem(), fault);
        const auto report = run(bench, bench.options(1), files);
        if (!files.faultWasHit()) {
            REQUIRE(report);
            return fault.callNumber - 1;
        }
        if (report) { // only removing the work folder may fail
            CHECK(std::filesystem::exists(bench.target()));
            CHECK(slurp(bench.destination() / "latest") == bench.plan.targetName);
        } else {
            CHECK_FALSE(report.error().message.empty());
            CHECK(report.error().code != ErrorCode::Internal);
            CHECK(report.error().code != ErrorCode::Damaged);
        }
        promise.check(bench);
        checkContinues(bench, 1);
    }
}

#ifndef __SANITIZE_THREAD__ // it does not follow forks of programs with threads

/// Runs the plan in a child process, after it has called the function.
template <class Body>
pid_t inChild(Body body)
{
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        body();
        ::_exit(0);
    }
    return child;
}

bool wasKilled(pid_t child)
{
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

int killCount()
{
    const char* text = std::getenv("SHARDSCOPE_KILLS");
    return text ? std::atoi(text) : 40;
}

#endif

} // namespace

TEST_CASE("every call of a job fails once: full disk, torn writes, I/O error, no permission, interrupted")
{
    Bench bench(kSmall);
    const uint64_t calls = failEveryCall(bench, {.errnoValue = EIO});
    CHECK(calls > 100);
    CHECK(failEveryCall(bench, {.errnoValue = ENOSPC, .tornWrites = true}) == calls);
    CHECK(failEveryCall(bench, {.errnoValue = EACCES}) == calls);
    CHECK(failEveryCall(bench, {.errnoValue = EINTR, .tornWrites = true}) == calls);
}

TEST_CASE("every call and all later ones fail, as if the disk was removed")
{
    Bench bench(kSmall);
    failEveryCall(bench, {.errnoValue = ESTALE, .repeat = true});
}

TEST_CASE("calls fail while several threads are at work")
{
    Bench bench(kSmall);
    const Promise promise(bench);
    std::mt19937_64 random(5);
    for (int round = 0; round < 60; ++round) {
        prepareDestination(bench);
        io::FaultingFileSystem files(
            io::realFileSystem(), {.callNumber = 1 + random() % 150, .errnoValue = ENOSPC});
        const auto report = run(bench, bench.options(4), files);
        if (report)
            continue;
        promise.check(bench);
        checkContinues(bench, 3);
    }
}

TEST_CASE("a full disk says how to continue, and finished files are kept")
{
    Bench bench(kSmall);
    uint64_t kept = 0;
    for (uint64_t call = 1;; ++call) {
        prepareDestination(bench);
        io::FaultingFileSystem files(
            io::realFileSystem(), {.callNumber = call, .errnoValue = ENOSPC, .tornWrites = true});
        const auto report = run(bench, bench.options(1), files);
        if (!files.faultWasHit())
            break;
        if (report || report.error().code != ErrorCode::NoSpace)
            continue;
        CHECK_FALSE(report.error().hint.text.empty());
        const auto again = run(bench, bench.options(1));
        REQUIRE(again);
        kept = std::max(kept, again->bytesReused);
    }
    CHECK(kept > bench.plan.writesBytes / 2);
}

TEST_CASE("force: the old target stays whole until the new one is in its place")
{
    Bench bench(kSmall);
    for (Fault fault{.callNumber = 1, .errnoValue = EIO};; ++fault.callNumber) {
        CAPTURE(fault.callNumber);
        prepareDestination(bench);
        spill(bench.target() / kOld, "old");
        ExecuteOptions options = bench.options(1);
        options.force = true;
        io::FaultingFileSystem files(io::realFileSystem(), fault);
        const auto report = run(bench, options, files);
        if (!report) {
            const auto found = treeOf(bench.target());
            if (found.contains(kOld))
                CHECK(found.size() == 1);
            else
                CHECK(found.contains("shardscope.json"));
        }
        REQUIRE(run(bench, options));
        checkComplete(bench);
        if (!files.faultWasHit())
            break;
    }
}

#ifndef __SANITIZE_THREAD__

TEST_CASE("killed at every call, the same command gives the same bytes")
{
    Bench bench(kSmall);
    const Promise promise(bench);
    for (const bool force : {false, true}) {
        ExecuteOptions options = bench.options(1);
        options.force = force;
        for (uint64_t call = 1;; ++call) {
            CAPTURE(call);
            prepareDestination(bench);
            if (force)
                spill(bench.target() / kOld, "old");
            const bool killed = wasKilled(inChild([&] {
                io::FaultingFileSystem files(io::realFileSystem(), {.callNumber = call, .kills = true});
                (void)run(bench, options, files);
            }));
            if (!force || !std::filesystem::exists(bench.target() / kOld))
                promise.check(bench);
            if (force)
                REQUIRE(run(bench, options));
            else
                checkContinues(bench, 2);
            checkComplete(bench);
            if (!killed)
                break;
        }
    }
}

TEST_CASE("killed at random moments, several times over, the same command gives the same bytes")
{
    Bench bench({3, 5, 9, 12'000, 11});
    const Promise promise(bench);
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    prepareDestination(bench);
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(run(bench, bench.options(2)));
    const auto whole
        = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    int kills = 0;
    while (kills < killCount()) {
        prepareDestination(bench);
        for (int times = 1 + static_cast<int>(random() % 3); times > 0; --times) {
            const pid_t child = inChild([&] { (void)run(bench, bench.options(2)); });
            std::this_thread::sleep_for(
                std::chrono::microseconds(random() % static_cast<uint64_t>(whole.count() + 1000)));
            ::kill(child, SIGKILL);
            kills += wasKilled(child) ? 1 : 0;
            promise.check(bench);
        }
        checkContinues(bench, 1 + static_cast<unsigned>(random() % 3));
    }
}

#endif
