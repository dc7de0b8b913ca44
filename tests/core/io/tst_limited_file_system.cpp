// SPDX-License-Identifier: Apache-2.0
// Files with a limit of bytes per second.
#include "core/io/limited_file_system.h"

#include "core/io/forwarding_file_system.h"
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

TEST_CASE("calls for many files are one call of the limited file system, and keep the limit")
{
    class Counted : public io::ForwardingFileSystem
    {
    public:
        Counted()
            : ForwardingFileSystem(io::realFileSystem())
        {
        }
        std::vector<Opened> openReadAll(std::span<const io::Path> paths) override
        {
            ++calls;
            return io::realFileSystem().openReadAll(paths);
        }
        std::vector<Result<io::FileInfo>> statAll(std::span<const io::Path> paths) override
        {
            ++calls;
            return io::realFileSystem().statAll(paths);
        }
        std::vector<Status> readAll(std::span<const io::ReadRange> ranges) override
        {
            ++calls;
            return io::realFileSystem().readAll(ranges);
        }
        std::vector<Status> checkAllUnchanged(std::span<const io::ReadFile* const> files) override
        {
            ++calls;
            return io::realFileSystem().checkAllUnchanged(files);
        }
        int calls = 0;
    };
    const TemporaryFolder folder;
    spill(folder / "a", std::string(100'000, 'a'));
    spill(folder / "b", std::string(100'000, 'b'));
    Counted counted;
    io::LimitedFileSystem files(counted, 1'000'000);
    const std::vector<io::Path> paths{folder / "a", folder / "b", folder / "absent"};
    CHECK(files.statAll(paths)[1]->identity.bytes == 100'000);
    const auto opened = files.openReadAll(paths);
    CHECK(opened[2].error().code == ErrorCode::NotFound);
    std::vector<uint8_t> first(100'000);
    std::vector<uint8_t> second(100'000);
    const std::vector<io::ReadRange> ranges{{opened[0]->get(), 0, first}, {opened[1]->get(), 0, second}};
    const auto start = Clock::now();
    for (int repeat = 0; repeat < 2; ++repeat) {
        for (const Status& read : files.readAll(ranges))
            CHECK(read);
    }
    CHECK(secondsSince(start) >= 0.2); // the second time begins after the first 200,000 bytes
    CHECK(first.front() == 'a');
    CHECK(second.back() == 'b');
    const std::vector<const io::ReadFile*> both{opened[0]->get(), opened[1]->get()};
    CHECK(files.checkAllUnchanged(both)[0]);
    CHECK(counted.calls == 5);
    std::stop_source stop;
    io::LimitedFileSystem stopped(counted, 1'000'000, stop.get_token());
    stop.request_stop();
    CHECK(stopped.readAll(ranges)[1].error().code == ErrorCode::Cancelled);
}
