// SPDX-License-Identifier: Apache-2.0
// Files with ranges in memory, and calls that wait at the same time.
#include "core/io/held_file.h"
#include "core/io/overlapping_calls.h"
#include "tests/support/memory_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::string textAt(const io::ReadFile& file, uint64_t offset, size_t bytes)
{
    std::vector<uint8_t> out(bytes);
    REQUIRE(file.readAt(offset, out));
    return {out.begin(), out.end()};
}

} // namespace

TEST_CASE("held ranges are read from memory, all others from the file")
{
    auto inner = std::make_unique<MemoryFile>("0123456789abcdef");
    const MemoryFile& below = *inner;
    io::HeldFile file(std::move(inner));
    const auto room = file.reserve(4, 6);
    REQUIRE(room.size() == 6);
    std::copy_n("HELD!!", 6, room.begin());
    CHECK(textAt(file, 4, 6) == "HELD!!");
    CHECK(textAt(file, 6, 2) == "LD");
    CHECK(below.readCalls() == 0);
    CHECK(textAt(file, 6, 5) == "6789a"); // reaches beyond what is held
    CHECK(textAt(file, 3, 2) == "34");
    CHECK(below.readCalls() == 2);
    CHECK(file.readyBytes(5) == 5);
    CHECK(file.readyBytes(3) == UINT64_MAX);
    CHECK(file.readyBytes(10) == UINT64_MAX);

    CHECK(file.reserve(5, 3).empty()); // is held
    CHECK(file.reserve(12, 100).size() == 4); // ends with the file
    CHECK(file.reserve(16, 1).empty());
    file.forget(4);
    CHECK(textAt(file, 4, 6) == "456789");
    file.forgetAll();
    CHECK(file.readyBytes(12) == UINT64_MAX);
}

TEST_CASE("calls that wait are under way at the same time, and each is made once")
{
    constexpr size_t kCalls = 200;
    std::vector<std::atomic<int>> made(kCalls);
    std::atomic<int> underWay = 0;
    std::atomic<int> most = 0;
    io::overlapCalls(kCalls, [&](size_t i) {
        const int now = ++underWay;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) { }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        --underWay;
        ++made[i];
    });
    for (const auto& one : made)
        CHECK(one == 1);
    CHECK(most > 1);
    io::overlapCalls(0, [](size_t) { FAIL("nothing to call"); });
}

TEST_CASE("calls that return at once stay on the calling thread")
{
    const auto caller = std::this_thread::get_id();
    size_t elsewhere = 0;
    io::overlapCalls(1000, [&](size_t) { elsewhere += std::this_thread::get_id() != caller ? 1U : 0U; });
    CHECK(elsewhere == 0);
}

TEST_CASE("calls for many files give what single calls give, in order")
{
    const TemporaryFolder folder;
    std::vector<io::Path> paths;
    for (const char* name : {"a", "missing", "b"})
        paths.push_back(folder / name);
    std::ofstream(paths[0]) << "first";
    std::ofstream(paths[2]) << "third";
    io::FileSystem& files = io::realFileSystem();
    const auto infos = files.statAll(paths);
    REQUIRE(infos.size() == 3);
    CHECK(infos[0]->identity.bytes == 5);
    CHECK(infos[1].error().code == ErrorCode::NotFound);
    const auto opened = files.openReadAll(paths);
    REQUIRE(opened.size() == 3);
    CHECK(opened[1].error().code == ErrorCode::NotFound);
    REQUIRE(opened[0]);
    REQUIRE(opened[2]);

    std::vector<uint8_t> one(3);
    std::vector<uint8_t> beyond(9);
    std::vector<uint8_t> two(2);
    const std::vector<io::ReadRange> ranges{
        {opened[0]->get(), 2, one}, {opened[0]->get(), 2, beyond}, {opened[2]->get(), 0, two}};
    const auto read = files.readAll(ranges);
    REQUIRE(read.size() == 3);
    CHECK(read[0]);
    CHECK(read[1].error().code == ErrorCode::Damaged);
    CHECK(read[2]);
    CHECK(std::string(one.begin(), one.end()) == "rst");
    CHECK(std::string(two.begin(), two.end()) == "th");

    std::ofstream(paths[2], std::ios::app) << "more";
    const std::vector<const io::ReadFile*> both{opened[0]->get(), opened[2]->get()};
    const auto unchanged = files.checkAllUnchanged(both);
    REQUIRE(unchanged.size() == 2);
    CHECK(unchanged[0]);
    CHECK(unchanged[1].error().code == ErrorCode::SourceChanged);
}
