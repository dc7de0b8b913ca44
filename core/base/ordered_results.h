// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/parallel.h"

#include <map>
#include <mutex>
#include <utility>

namespace shardscope {

/// parallelFor() that passes on results one at a time, in the order of their numbers, so that sums over them
/// do not depend on the number of threads. Early results wait; there are about as many as threads.
template <class T, class Work, class Take>
Status parallelInOrder(size_t count, unsigned jobs, JobContext& job, const Work& work, const Take& take)
{
    std::mutex mutex;
    std::map<size_t, T> early;
    size_t next = 0;
    return parallelFor(count, jobs, job, [&](size_t i) -> Status {
        SHARDSCOPE_TRY(T made, work(i));
        const std::lock_guard lock(mutex);
        early.emplace(i, std::move(made));
        for (auto at = early.find(next); at != early.end(); at = early.find(next)) {
            SHARDSCOPE_CHECK(take(next, std::move(at->second)));
            early.erase(at);
            ++next;
        }
        return {};
    });
}

} // namespace shardscope
