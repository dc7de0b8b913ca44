// SPDX-License-Identifier: Apache-2.0
#include "core/base/job_context.h"

#include <doctest/doctest.h>

#include <vector>

using namespace shardscope;

TEST_CASE("progress does not exceed its total")
{
    std::vector<Progress> seen;
    JobContext job({}, [&](const Progress& progress) { seen.push_back(progress); });
    job.beginPhase("reading", 10);
    job.advance(6);
    job.advance(8);
    job.advance(100);
    REQUIRE(!seen.empty());
    for (const Progress& progress : seen)
        CHECK(progress.bytesDone <= progress.bytesTotal);
    CHECK(seen.back().bytesDone == 10);
    CHECK(seen.back().etaSeconds <= 0);
}

TEST_CASE("a phase without a total, or beyond it, does not report every step")
{
    for (const uint64_t total : {uint64_t{0}, uint64_t{1}}) {
        std::vector<Progress> seen;
        JobContext job({}, [&](const Progress& progress) { seen.push_back(progress); });
        job.beginPhase("reading", total);
        for (int i = 0; i < 10000; ++i)
            job.advance(1 << 20);
        CHECK(seen.size() < 1000);
    }
}
