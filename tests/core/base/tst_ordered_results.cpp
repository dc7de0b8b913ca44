// SPDX-License-Identifier: Apache-2.0
#include "core/base/ordered_results.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace shardscope;

TEST_CASE("results are taken once each and in order, for any number of threads")
{
    for (const unsigned jobs : {1u, 4u, 16u}) {
        JobContext job;
        std::vector<size_t> taken;
        const Status done = parallelInOrder<std::string>(
            200, jobs, job,
            [](size_t i) -> Result<std::string> {
                if (i % 7 == 0) // the first ones last
                    std::this_thread::sleep_for(std::chrono::microseconds(300));
                return std::to_string(i);
            },
            [&](size_t i, const std::string& text) -> Status {
                CHECK(text == std::to_string(i));
                taken.push_back(i);
                return {};
            });
        CHECK(done.has_value());
        REQUIRE(taken.size() == 200);
        for (size_t i = 0; i < taken.size(); ++i)
            CHECK(taken[i] == i);
    }
}

TEST_CASE("a failure ends the loop, and no later result is taken")
{
    JobContext job;
    size_t taken = 0;
    const Status failed = parallelInOrder<int>(
        100, 4, job,
        [](size_t i) -> Result<int> {
            if (i == 20)
                return fail(ErrorCode::Unreadable, "twenty");
            return 1;
        },
        [&](size_t i, int) -> Status {
            CHECK(i < 20);
            ++taken;
            return {};
        });
    REQUIRE(!failed.has_value());
    CHECK(failed.error().message == "twenty");
    CHECK(taken <= 20);
    const Status refused = parallelInOrder<int>(
        10, 4, job, [](size_t) -> Result<int> { return 1; },
        [](size_t, int) -> Status { return fail(ErrorCode::Refused, "no"); });
    CHECK(!refused.has_value());
}
