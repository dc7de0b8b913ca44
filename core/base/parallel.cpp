// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include "core/base/current_stop.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace shardscope {

Thread Thread::start(std::function<void()> work)
{
    Thread out;
    try {
        out.m_thread = std::jthread(std::move(work));
    } catch (const std::system_error&) {
    }
    return out;
}

void Thread::join()
{
    if (m_thread.joinable())
        m_thread.join();
}

Error noThread()
{
    return {ErrorCode::WriteFailed, "no thread could be started", {},
        "raise the limit of processes of this user (ulimit -u) or of the control group"};
}

void onThreads(size_t count, const std::function<void(size_t)>& run)
{
    std::mutex mutex;
    std::exception_ptr thrown;
    const StopScope* const outer = StopScope::current();
    const auto caught = [&](size_t i) {
        const StopScope scope({}, outer);
        try {
            run(i);
        } catch (...) {
            const std::lock_guard lock(mutex);
            thrown = std::current_exception();
        }
    };
    {
        std::vector<Thread> threads;
        for (size_t i = 1; i < count; ++i) {
            threads.push_back(Thread::start([&caught, i] { caught(i); }));
            if (!threads.back().isStarted())
                break;
        }
        caught(0);
    }
    if (thrown)
        std::rethrow_exception(thrown);
}

unsigned defaultJobs()
{
    return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

Status runWorkers(
    size_t count, size_t jobs, JobContext& job, const std::function<Status(size_t, size_t)>& work)
{
    std::atomic<size_t> next = 0;
    std::atomic<bool> stop = false;
    std::mutex mutex;
    std::optional<std::pair<size_t, Error>> failure;
    const auto keep = [&](size_t i, Error error) {
        stop = true;
        const std::lock_guard lock(mutex);
        const auto rank = [](const std::pair<size_t, Error>& one) {
            return std::pair(one.second.code == ErrorCode::Cancelled, one.first);
        };
        std::pair<size_t, Error> found(i, std::move(error));
        if (!failure || rank(found) < rank(*failure))
            failure = std::move(found);
    };
    const auto run = [&](size_t worker) {
        const StopScope scope(job.stopToken());
        while (!stop) {
            const size_t i = next++;
            if (i >= count)
                return;
            if (auto polled = job.poll(); !polled)
                return keep(i, std::move(polled).error());
            if (auto done = work(worker, i); !done)
                return keep(i, std::move(done).error());
        }
    };
    onThreads(std::min<size_t>(jobs == 0 ? defaultJobs() : jobs, count), run);
    if (failure)
        return forward(std::move(failure->second));
    return {};
}

Status parallelFor(size_t count, unsigned jobs, JobContext& job, const std::function<Status(size_t)>& work)
{
    return runWorkers(count, jobs, job, [&](size_t, size_t i) { return work(i); });
}

} // namespace shardscope
