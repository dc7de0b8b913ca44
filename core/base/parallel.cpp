// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

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
    const auto caught = [&](size_t i) {
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
    onThreads(std::min<size_t>(jobs, count), [&](size_t) { run(); });
    if (failure)
        return forward(std::move(failure->second));
    return {};
}

} // namespace shardscope
