// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace shardscope {

unsigned defaultJobs()
{
    return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

Status parallelFor(size_t count, unsigned jobs, JobContext& job, const std::function<Status(size_t)>& work)
{
    std::atomic<size_t> next = 0;
    std::atomic<bool> stop = false;
    std::mutex mutex;
    std::optional<std::pair<size_t, Error>> failure;
    const auto keep = [&](size_t i, Error error) {
        stop = true;
        const std::lock_guard lock(mutex);
        if (!failure || i < failure->first)
            failure.emplace(i, std::move(error));
    };
    const auto run = [&] {
        while (!stop) {
            const size_t i = next++;
            if (i >= count)
                return;
            if (auto polled = job.poll(); !polled)
                return keep(i, std::move(polled).error());
            if (auto done = work(i); !done)
                return keep(i, std::move(done).error());
        }
    };
    {
        const size_t extra = std::min<size_t>(jobs == 0 ? 1 : jobs, count);
        std::vector<std::jthread> threads;
        for (size_t i = 1; i < extra; ++i)
            threads.emplace_back(run);
        run();
    }
    if (failure)
        return forward(std::move(failure->second));
    return {};
}

} // namespace shardscope
