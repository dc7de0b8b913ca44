// SPDX-License-Identifier: Apache-2.0
// Every call of the C library that touches a file, and every start of a thread, fails once, in whole commands
// from their first look to their exit status.
#include "tests/faults/fault_job.h"
#include "tests/faults/libc_faults.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <string_view>

using namespace shardscope::test;

namespace {

constexpr int kErrors[] = {EIO, ENOSPC, EMFILE, ESTALE};

/// Each call has one of the errors, in turn; with SHARDSCOPE_FAULTS=JOB each call of that job has every one.
std::string_view jobWithAll()
{
    const char* const wanted = std::getenv("SHARDSCOPE_FAULTS");
    return wanted != nullptr ? std::string_view(wanted) : std::string_view();
}

/// A universal checkpoint has a file for each state of each parameter: its calls take an hour.
bool isWanted(const FaultJob& job)
{
    return jobWithAll().empty() ? job.name != "convert to universal" : jobWithAll() == job.name;
}

void failOnce(const FaultJob& job, const FaultOutcome& clean, const LibcFault& fault)
{
    prepare(job);
    FaultOutcome faulty;
    const char* failed = nullptr;
    {
        const FaultsHere faults(fault);
        faulty = runFaulty(job);
        failed = faults.failed();
    }
    const std::string name = failed == nullptr ? "" : failed;
    CAPTURE(job.name);
    CAPTURE(fault.callNumber);
    CAPTURE(fault.errnoValue);
    CAPTURE(name);
    checkOutcome(job, clean, faulty, {3, 5});
}

/// The number of calls that failed.
uint64_t failEveryCall(const FaultJob& job)
{
    setProcessors(1); // the same calls in the same order every time
    const FaultOutcome clean = runClean(job);
    prepare(job);
    uint64_t calls = 0;
    {
        const FaultsHere faults(LibcFault{});
        (void)runFaulty(job);
        calls = faults.calls();
    }
    uint64_t made = 0;
    for (uint64_t call = 1; call <= calls; ++call) {
        for (size_t i = 0; i < std::size(kErrors); ++i) {
            if (jobWithAll().empty() && call % std::size(kErrors) != i)
                continue;
            failOnce(job, clean, {call, kErrors[i]});
            ++made;
        }
    }
    MESSAGE(job.name << ": " << calls << " calls, " << made << " faults");
    return calls;
}

void failEveryThread(const FaultJob& job)
{
    setProcessors(4);
    const FaultOutcome clean = runClean(job);
    prepare(job);
    uint64_t threads = 0;
    {
        const FaultsHere faults(ThreadFault{});
        (void)runFaulty(job);
        threads = faults.calls();
    }
    for (uint64_t number = 1; number <= threads; ++number) {
        for (const bool andLater : {false, true}) {
            prepare(job);
            FaultOutcome faulty;
            {
                const FaultsHere faults(ThreadFault{number, andLater});
                faulty = runFaulty(job);
            }
            CAPTURE(job.name);
            CAPTURE(number);
            CAPTURE(andLater);
            checkOutcome(job, clean, faulty, {5});
        }
    }
    MESSAGE(job.name << ": " << threads << " threads");
    CHECK(threads > 0);
}

void failEveryAllocation(const FaultJob& job)
{
    setProcessors(2);
    const FaultOutcome clean = runClean(job);
    prepare(job);
    uint64_t allocations = 0;
    {
        const FaultsHere faults(MemoryFault{});
        (void)runFaulty(job);
        allocations = faults.calls();
    }
    for (uint64_t number = 1; number <= allocations; ++number) {
        prepare(job);
        FaultOutcome faulty;
        {
            const FaultsHere faults(MemoryFault{number});
            faulty = runFaulty(job);
        }
        CAPTURE(job.name);
        CAPTURE(number);
        checkOutcome(job, clean, faulty, {3, 5});
    }
    MESSAGE(job.name << ": " << allocations << " large allocations");
}

} // namespace

TEST_CASE("a call that fails once is no verdict: commands that read")
{
    const FaultBench bench;
    for (const FaultJob& job : bench.readers("1")) {
        if (isWanted(job))
            CHECK(failEveryCall(job) > 10);
    }
    CHECK(bench.sourcesAreUnchanged());
}

TEST_CASE("a call that fails once keeps the promise: commands that write")
{
    const FaultBench bench;
    for (const FaultJob& job : bench.writers("1")) {
        if (isWanted(job))
            CHECK(failEveryCall(job) > 100);
    }
    CHECK(bench.sourcesAreUnchanged());
}

TEST_CASE("threads that cannot be started: commands that read")
{
    const FaultBench bench;
    for (const FaultJob& job : bench.readers("4"))
        failEveryThread(job);
    CHECK(bench.sourcesAreUnchanged());
}

TEST_CASE("threads that cannot be started: commands that write")
{
    const FaultBench bench;
    for (const FaultJob& job : bench.writers("4"))
        failEveryThread(job);
    CHECK(bench.sourcesAreUnchanged());
}

TEST_CASE("memory that cannot be had: commands that read")
{
    const FaultBench bench;
    for (const FaultJob& job : bench.readers("2"))
        failEveryAllocation(job);
    CHECK(bench.sourcesAreUnchanged());
}

TEST_CASE("memory that cannot be had: commands that write")
{
    const FaultBench bench;
    for (const FaultJob& job : bench.writers("2"))
        failEveryAllocation(job);
    CHECK(bench.sourcesAreUnchanged());
}
