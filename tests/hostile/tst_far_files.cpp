// SPDX-License-Identifier: Apache-2.0
// Checkpoints on file systems where every call waits.
#include "core/checkpoint/open/open.h"
#include "tests/hostile/hostile_fixture.h"
#include "tests/support/waiting_file_system.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Calls that opening in full makes.
uint64_t roundsOf(const std::filesystem::path& path)
{
    WaitingFileSystem files(std::chrono::microseconds(0));
    JobContext job;
    const auto opened = openCheckpoint(files, path, {}, job);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
    CHECK(opened->checkpoint->fullyRead);
    CHECK_FALSE(opened->checkpoint->modelError);
    return files.rounds();
}

} // namespace

TEST_CASE("opening a checkpoint of many ranks needs no more rounds than one of few")
{
    const TemporaryFolder folder;
    for (const char* sample : {"zero3-w4", "zero2-w2", "bf16opt-w2"}) {
        CAPTURE(sample);
        uint64_t rounds[2] = {};
        for (const int many : {0, 1}) {
            const std::string ranks = many != 0 ? "60" : "3";
            const std::filesystem::path made = folder / (sample + ranks);
            runVerb({"reshard", samplePath(sample).string(), made.string(), "--world-size", ranks}, 0);
            rounds[many] = roundsOf(made);
        }
        CHECK(rounds[1] <= rounds[0]);
        CHECK(rounds[1] <= 25);
    }
}
