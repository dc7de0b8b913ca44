// SPDX-License-Identifier: Apache-2.0
#include "core/io/overlapping_calls.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace shardscope::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostAtATime = 64;
/// Worth starting threads: what has passed altogether, and per call.
constexpr auto kPatience = std::chrono::microseconds(500);
constexpr auto kWaits = std::chrono::microseconds(100);

} // namespace

void overlapCalls(size_t count, const std::function<void(size_t)>& work)
{
    const Clock::time_point start = Clock::now();
    size_t done = 0;
    for (; done < count; ++done) {
        const auto passed = Clock::now() - start;
        if (passed > kPatience && passed > kWaits * done)
            break;
        work(done);
    }
    if (done == count)
        return;
    std::atomic<size_t> next = done;
    onThreads(std::min(kMostAtATime, count - done), [&](size_t) {
        for (size_t i = next++; i < count; i = next++)
            work(i);
    });
}

} // namespace shardscope::io
