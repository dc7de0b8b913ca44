// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/parallel.h"
#include "core/base/shared_work.h"
#include "core/base/wire.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace shardscope {

/// A loop over [0, count), by the threads of this process, or of all processes that share it.
struct OrderedLoop {
    size_t count = 0;
    unsigned jobs = 0; ///< threads of a process; 0: defaultJobs()
    SharedWork* shared = nullptr;
};

/// One block of a shared loop: each process does a part of it, and all get all results.
template <class T, class Work, class Take>
Status sharedInOrder(
    size_t begin, size_t end, const OrderedLoop& loop, JobContext& job, const Work& work, const Take& take)
{
    const size_t size = loop.shared->size();
    std::vector<size_t> own;
    for (size_t i = begin; i < end; ++i) {
        if (i % size == loop.shared->rank())
            own.push_back(i);
    }
    std::vector<T> made(own.size());
    const Status done = parallelFor(own.size(), loop.jobs, job, [&](size_t i) -> Status {
        SHARDSCOPE_TRY(made[i], work(own[i]));
        return {};
    });
    WireWriter out;
    for (const T& each : made)
        out(each);
    SHARDSCOPE_TRY(const auto all,
        loop.shared->exchange(done ? Result<std::string>(out.take()) : forward(done.error())));
    std::vector<WireReader> in(all.begin(), all.end());
    for (size_t i = begin; i < end; ++i) {
        T result{};
        in[i % size](result);
        if (!in[i % size].isGood())
            return fail(ErrorCode::Internal, "a process of the job sent what cannot be read");
        SHARDSCOPE_CHECK(take(i, std::move(result)));
    }
    return {};
}

/// parallelFor() that passes on results one at a time, in the order of their numbers, so that sums over them
/// do not depend on the number of threads and processes. Early results wait: about as many as threads, eight
/// times as many in a shared loop. Between processes they pass as wire.h describes them.
template <class T, class Work, class Take>
Status parallelInOrder(const OrderedLoop& loop, JobContext& job, const Work& work, const Take& take)
{
    if (loop.shared != nullptr) {
        const size_t block = size_t{loop.shared->size()} * (loop.jobs == 0 ? defaultJobs() : loop.jobs) * 8;
        for (size_t begin = 0; begin < loop.count; begin += block)
            SHARDSCOPE_CHECK(
                sharedInOrder<T>(begin, std::min(begin + block, loop.count), loop, job, work, take));
        return {};
    }
    std::mutex mutex;
    std::map<size_t, T> early;
    size_t next = 0;
    return parallelFor(loop.count, loop.jobs, job, [&](size_t i) -> Status {
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
