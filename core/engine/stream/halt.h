// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>

namespace shardscope {

/// One reason to stop for all workers of a phase: the user stopped the job, or a worker failed. Thread-safe.
class Halt
{
public:
    explicit Halt(JobContext& job)
        : m_job(job)
    {
    }

    [[nodiscard]] JobContext& job() const { return m_job; }
    void stop() { m_stopped = true; }
    Status poll() const
    {
        if (m_stopped)
            return fail(ErrorCode::Cancelled, "stopped because another part of the job failed");
        return m_job.poll();
    }

private:
    JobContext& m_job;
    std::atomic<bool> m_stopped = false;
};

/// runWorkers() of core/base/parallel.h; a failure also stops the others at their next poll of `halt`.
inline Status runWorkers(
    size_t count, size_t workers, Halt& halt, const std::function<Status(size_t, size_t)>& work)
{
    return runWorkers(count, std::max<size_t>(workers, 1), halt.job(), [&](size_t worker, size_t item) {
        Status status = halt.poll();
        if (status)
            status = work(worker, item);
        if (!status)
            halt.stop();
        return status;
    });
}

} // namespace shardscope
