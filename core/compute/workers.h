// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/shared_work.h"
#include "core/compute/compute_backend.h"

namespace shardscope {

/// Who does the work of a pass over files.
struct Workers {
    Workers(unsigned jobsAtOnce = 0, const ComputeBackend& by = plainBackend()) // implicit: mostly a number
        : jobs(jobsAtOnce)
        , backend(&by)
    {
    }

    /// About how much of this many bytes this process reads.
    [[nodiscard]] uint64_t shareOf(uint64_t bytes) const
    {
        return shared == nullptr ? bytes : bytes / shared->size();
    }

    unsigned jobs; ///< threads; 0: as many as there are processors, at most 16
    const ComputeBackend* backend; ///< never null; outlives the pass
    SharedWork* shared = nullptr; ///< processes that share the pass; outlives it
};

} // namespace shardscope
