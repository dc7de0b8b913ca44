// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/slices/joined_slices.h"
#include "core/io/file_system.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Slices of one parameter held against each other, state by state, in all of their bytes.
struct SliceComparison {
    std::string state; ///< in which a slice first differs from the first one; empty: none does
    size_t slice = 0; ///< the one that differs
    uint64_t element = 0;
    bool allZero = true; ///< up to where they were read
    [[nodiscard]] bool areEqual() const { return state.empty(); }
};

/// `slices`: parameters of `of`, of one shape. Memory: two buffers of 1 MiB. Unreadable, Cancelled.
Result<SliceComparison> compareSlices(
    io::FileSystem& files, const Checkpoint& of, const std::vector<ParamId>& slices, JobContext& job);

/// A finding for every parameter of which each slice should be the whole and one is not: joining them would
/// keep the first slice's values.
Result<std::vector<Finding>> checkReplicas(io::FileSystem& files, const Checkpoint& joined, JobContext& job);

} // namespace shardscope
