// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/layout/slices/merged_slices.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The comparison of the slices of one parameter, state by state, in all bytes.
struct SliceComparison {
    std::string state; ///< the first state with a slice that differs from the first one; empty: none
    size_t slice = 0; ///< the slice that differs
    uint64_t element = 0;
    bool allZero = true; ///< in the part that was read
    [[nodiscard]] bool areEqual() const { return state.empty(); }
};

/// `slices`: parameters of `of` with one shape. Memory: two buffers of 1 MiB. Unreadable, Cancelled.
Result<SliceComparison> compareSlices(
    io::FileSystem& files, const Checkpoint& of, const std::vector<ParamId>& slices, JobContext& job);

/// A finding for every replicated parameter with slices that differ: merging would keep the first slice's
/// values.
Result<std::vector<Finding>> checkReplicas(io::FileSystem& files, const Checkpoint& merged, JobContext& job);

} // namespace shardscope
