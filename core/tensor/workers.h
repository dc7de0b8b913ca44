// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/shared_work.h"
#include "core/tensor/compute_backend.h"

namespace shardscope {

/// Who does the work of a pass over files.
struct Workers {
    Workers(unsigned jobsAtOnce = 0, const ComputeBackend& by = plainBackend()) // implicit: mostly a number
        : jobs(jobsAtOnce)
        , backend(&by)
    {
    }

    unsigned jobs; ///< threads; 0: as many as there are processors, at most 16
    const ComputeBackend* backend; ///< never null; outlives the pass
    SharedWork* shared = nullptr; ///< processes that share the pass; outlives it
};

} // namespace shardscope
