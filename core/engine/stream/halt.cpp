// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/halt.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace shardscope {

Status runWorkers(size_t count, size_t workers, Halt& halt, const std::function<Status(size_t, size_t)>& work)
{
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    std::optional<Error> failure;
    const auto run = [&](size_t worker) {
        for (size_t item = next++; item < count; item = next++) {
            Status status = halt.poll();
            if (status)
                status = work(worker, item);
            if (status)
                continue;
            const std::lock_guard lock(mutex);
            if (!failure)
                failure = std::move(status).error();
            halt.stop();
            return;
        }
    };
    onThreads(std::min(workers, count), run);
    if (failure)
        return forward(std::move(*failure));
    return {};
}

} // namespace shardscope
