// SPDX-License-Identifier: Apache-2.0
// Files with a limit of bytes per second.
#include "core/io/limited_file_system.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

using namespace shardscope;
using namespace shardscope::test;

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

TEST_CASE("reads and writes of all files together keep the limit, and get the same bytes")
{
    const TemporaryFolder folder;
    io::LimitedFileSystem files(io::realFileSystem(), 1'000'000);
    const std::vector<uint8_t> block(50'000, 7);
    const auto start = Clock::now();
    {
        std::vector<std::jthread> threads;
        for (const char* name : {"a", "b"}) {
            threads.emplace_back([&, name] {
                const auto file = files.create(folder / name, 0644);
                REQUIRE(file);
                for (uint64_t at = 0; at < 100'000; at += block.size())
                    REQUIRE((*file)->writeAt(at, block));
                REQUIRE((*file)->close());
            });
        }
    }
    const auto file = files.openRead(folder / "a");
    REQUIRE(file);
    CHECK((*file)->size() == 100'000);
    std::vector<uint8_t> found(block.size());
    REQUIRE((*file)->readAt(50'000, found));
    CHECK(found == block);
    REQUIRE((*file)->readFromDevice(0, found));
    CHECK(found == block);
    // 300,000 bytes: the last block of 50,000 begins 0.25 s after the first one.
    CHECK(secondsSince(start) >= 0.25);
    CHECK(files.secondsHeldBack() >= 0.25);
}

TEST_CASE("a pause is not saved up for later")
{
    io::RateLimit limit(1'000'000);
    REQUIRE(limit.pass(1));
    CHECK(limit.secondsHeldBack() == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto start = Clock::now();
    for (int i = 0; i < 3; ++i)
        REQUIRE(limit.pass(50'000));
    CHECK(secondsSince(start) >= 0.1);
}

TEST_CASE("a stop ends a wait, and nothing is read after it")
{
    std::stop_source stop;
    io::RateLimit limit(1, stop.get_token());
    REQUIRE(limit.pass(1'000'000)); // the next ones have to wait for days
    std::jthread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        stop.request_stop();
    });
    const auto start = std::chrono::steady_clock::now();
    const Status waited = limit.pass(1);
    REQUIRE_FALSE(waited);
    CHECK(waited.error().code == ErrorCode::Cancelled);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}
