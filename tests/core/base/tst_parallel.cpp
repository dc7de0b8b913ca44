// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

using namespace shardscope;

TEST_CASE("parallelFor calls every index once, for any number of threads")
{
    for (const unsigned jobs : {0u, 1u, 3u, 16u}) {
        JobContext job;
        std::vector<std::atomic<int>> calls(1000);
        const auto done = parallelFor(calls.size(), jobs, job, [&](size_t i) -> Status {
            ++calls[i];
            return {};
        });
        CHECK(done.has_value());
        for (const auto& count : calls)
            CHECK(count == 1);
    }
}

TEST_CASE("parallelFor returns the failure of the lowest index that failed and begins nothing after it")
{
    JobContext job;
    std::atomic<size_t> begun = 0;
    const auto done = parallelFor(100000, 4, job, [&](size_t i) -> Status {
        ++begun;
        if (i >= 10)
            return fail(ErrorCode::Damaged, std::to_string(i));
        return {};
    });
    REQUIRE(!done.has_value());
    CHECK(done.error().message == "10");
    CHECK(begun < 100000);
}

TEST_CASE("a stop ends parallelFor as cancelled")
{
    std::stop_source stop;
    JobContext job(stop.get_token());
    std::atomic<int> begun = 0;
    const auto done = parallelFor(100000, 2, job, [&](size_t) -> Status {
        if (++begun == 5)
            stop.request_stop();
        return {};
    });
    REQUIRE(!done.has_value());
    CHECK(done.error().code == ErrorCode::Cancelled);
    CHECK(begun < 100000);
}

TEST_CASE("progress reports phase and bytes, and the last report of a phase is complete")
{
    std::vector<Progress> seen;
    JobContext job({}, [&](const Progress& progress) { seen.push_back(progress); });
    job.beginPhase("writing", 1000);
    for (int i = 0; i < 100; ++i)
        job.advance(10);
    REQUIRE(seen.size() >= 2);
    CHECK(seen.front().phase == "writing");
    CHECK(seen.front().bytesDone == 0);
    CHECK(seen.back().bytesDone == 1000);
    CHECK(seen.back().bytesTotal == 1000);
}
