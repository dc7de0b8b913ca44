// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"

#include <cstddef>
#include <functional>
#include <new>
#include <thread>

namespace shardscope {

/// A thread of this process, joined by its destructor; or none, where the system has no more of them: a login
/// node limits processes by `ulimit -u` or by a control group. All threads are started here, so that nobody
/// forgets that there may be none.
class Thread
{
public:
    Thread() = default;
    /// None if the system refuses.
    static Thread start(std::function<void()> work);

    [[nodiscard]] bool isStarted() const { return m_thread.joinable(); }
    /// Waits until it has ended. Without one, does nothing.
    void join();

private:
    std::jthread m_thread;
};

/// What failed where a thread is needed and none could be started.
Error noThread();

/// Calls `run(i)` for every i in [0, count): 0 in the calling thread, the others in threads of their own.
/// Ends when all have ended. Where the system has fewer threads, the last ones are not called: each must take
/// the work that is left. An exception of any (std::bad_alloc) is thrown again.
void onThreads(size_t count, const std::function<void(size_t)>& run);

/// The result of `work`, or WriteFailed where memory ran out: an exception that leaves a thread ends the
/// process.
template <class Work>
Status withinMemory(const Work& work)
{
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::WriteFailed, "there is not enough memory", {},
            "use fewer --jobs, or a smaller --memory-limit");
    }
}

/// Processors to use for work that waits on disks as much as it computes: at least 1, at most 16.
unsigned defaultJobs();

/// Calls `work(worker, i)` for every i in [0, count) on up to `jobs` threads, or as many as there are, and
/// returns when all are done. 0 jobs: defaultJobs(). `worker`, below `jobs`, is the number of the thread, so
/// that threads can have buffers of their own.
///
/// After a failure or a stop no further index starts. Returns the error of the lowest failed index, Cancelled
/// only if nothing else failed. `work` must be thread-safe; the calling thread takes part.
Status runWorkers(
    size_t count, size_t jobs, JobContext& job, const std::function<Status(size_t worker, size_t i)>& work);

/// The same for work that has no need of the thread's number.
Status parallelFor(size_t count, unsigned jobs, JobContext& job, const std::function<Status(size_t)>& work);

} // namespace shardscope
