// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"

#include <cstddef>
#include <functional>

namespace shardscope {

/// Processors to use for work that waits on disks as much as it computes: at least 1, at most 16.
unsigned defaultJobs();

/// Calls `work(i)` for every i in [0, count) on up to `jobs` threads and returns when all are done.
///
/// After a failure or a stop no further index starts; the error of the lowest failed index is returned.
/// `work` must be thread-safe; the calling thread takes part.
Status parallelFor(size_t count, unsigned jobs, JobContext& job, const std::function<Status(size_t)>& work);

} // namespace shardscope
