// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"

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

/// Calls `work(worker, item)` for every item in [0, count) on `workers` threads, including the calling
/// thread. A worker processes one item at a time. The first failure stops the others at their next poll, and
/// is returned.
Status runWorkers(
    size_t count, size_t workers, Halt& halt, const std::function<Status(size_t, size_t)>& work);

} // namespace shardscope
