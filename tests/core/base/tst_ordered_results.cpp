// SPDX-License-Identifier: Apache-2.0
#include "core/base/ordered_results.h"
#include "tests/support/thread_peers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace shardscope;

namespace {

struct Made {
    std::string text;
};

void wire(auto& io, Wired<Made> auto& made)
{
    io(made.text);
}

/// Runs a loop over `count`, which fails at `fails`, and returns the numbers of the results that were taken.
std::vector<size_t> takenOf(const OrderedLoop& loop, size_t fails, Status& done)
{
    JobContext job;
    std::vector<size_t> taken;
    done = parallelInOrder<Made>(
        loop, job,
        [&](size_t i) -> Result<Made> {
            if (i % 7 == 0) // the first ones last
                std::this_thread::sleep_for(std::chrono::microseconds(300));
            if (i == fails)
                return fail(ErrorCode::Unreadable, "it failed");
            return Made{std::to_string(i)};
        },
        [&](size_t i, const Made& made) -> Status {
            taken.push_back(made.text == std::to_string(i) ? i : SIZE_MAX);
            return {};
        });
    return taken;
}

} // namespace

TEST_CASE("results are taken once each and in order, for any number of threads and processes")
{
    std::vector<size_t> all(200);
    std::iota(all.begin(), all.end(), size_t{0});
    for (const unsigned jobs : {1u, 4u, 16u}) {
        Status done;
        CHECK(takenOf({200, jobs}, SIZE_MAX, done) == all);
        CHECK(done.has_value());
        for (const size_t fails : {SIZE_MAX, size_t{150}}) {
            constexpr uint32_t kProcesses = 3;
            test::ThreadPeers peers(kProcesses);
            std::vector<std::vector<size_t>> taken(kProcesses);
            std::vector<Status> ends(kProcesses);
            onThreads(kProcesses, [&](size_t rank) {
                test::ThreadPeers::One own(peers, static_cast<uint32_t>(rank));
                SharedWork shared(own);
                taken[rank] = takenOf({200, jobs, &shared}, fails, ends[rank]);
            });
            for (uint32_t rank = 0; rank < kProcesses; ++rank) {
                CHECK(taken[rank] == taken[0]);
                CHECK(std::equal(taken[rank].begin(), taken[rank].end(), all.begin()));
                CHECK(taken[rank].size() == (fails == SIZE_MAX ? 200 : taken[0].size()));
                CHECK(ends[rank].has_value() == (fails == SIZE_MAX));
            }
        }
    }
}

TEST_CASE("a failure ends the loop, and no later result is taken")
{
    Status failed;
    CHECK(takenOf({100, 4}, 20, failed).size() <= 20);
    REQUIRE(!failed.has_value());
    CHECK(failed.error().message == "it failed");
    JobContext job;
    const Status refused = parallelInOrder<Made>(
        {10, 4}, job, [](size_t) -> Result<Made> { return Made{}; },
        [](size_t, const Made&) -> Status { return fail(ErrorCode::Refused, "no"); });
    CHECK(!refused.has_value());
}

TEST_CASE("what no process of this version writes is refused, and reads as nothing")
{
    const auto isRead = [](const auto& written, auto value) {
        const bool out = fromWire(toWire(written), value);
        CHECK((out || value == decltype(value){}));
        return out;
    };
    CHECK(isRead(int64_t{-5}, int32_t{0}));
    CHECK_FALSE(isRead(uint64_t{1} << 32, uint32_t{0}));
    CHECK_FALSE(isRead(uint64_t{2}, false));
    CHECK_FALSE(isRead(uint64_t{9}, std::optional<uint64_t>(3)));
    CHECK_FALSE(isRead(uint64_t{100}, std::string("a list longer than all bytes")));
    CHECK_FALSE(isRead(std::string("seven b"), 0.0));
    enum class Word : uint8_t { One, Two };
    for (const uint64_t number : {0, 1, 2}) {
        const std::string bytes = toWire(number);
        WireReader in(bytes);
        Word word = Word::Two;
        in.word(word, Word::Two);
        CHECK(in.isGood() == (number < 2));
        CHECK(word == (number == 1 ? Word::Two : Word::One));
    }
    for (const uint64_t most : {2, 3}) {
        const std::string bytes = toWire(std::vector<std::string>{"a", "b", "c"});
        WireReader in(bytes);
        std::vector<std::string> list;
        in.list(list, most);
        CHECK(in.isGood() == (most == 3));
        CHECK(list.size() == (most == 3 ? 3 : 0));
    }
}
