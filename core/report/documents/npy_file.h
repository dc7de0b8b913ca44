// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/report/answers/show_report.h"

#include <functional>
#include <optional>
#include <utility>

namespace shardscope {

/// Elements of a tensor in the order of a file.
struct NpyElements {
    ParamId param = kNoParam;
    std::string_view state;
    DType dtype = DType::Unknown;
    Shape shape; ///< in the file
    uint64_t first = 0; ///< of the tensor's elements; the others follow it
    /// Of a slice: elements of the tensor from one row, and from one column, to the next. `shape` then has
    /// two dimensions.
    std::optional<std::pair<uint64_t, uint64_t>> strides = {};
};

/// Hands a NumPy file (format 1.0, C order) to `sink`, in pieces of a few MiB. Conversions and errors are
/// those of writeNpyFile(), which decides about a place; `path` of the report is empty.
Result<NpyReport> writeNpy(io::FileSystem& files, const Checkpoint& checkpoint, const NpyElements& elements,
    const std::function<Status(std::span<const uint8_t>)>& sink, JobContext& job);

/// Writes one whole tensor as a NumPy file (format 1.0, C order), streaming in pieces of a few MiB.
///
/// NumPy has no bfloat16, float8 and complex32. They are converted exactly to float32 or complex64. The file
/// appears complete and synced, or not at all. TargetExists unless `replace`. Refused if elements are
/// missing. Format: NEP 1, numpy/lib/format.py.
Result<NpyReport> writeNpyFile(io::FileSystem& files, const Checkpoint& checkpoint, ParamId param,
    std::string_view state, DType dtype, const io::Path& path, bool replace, JobContext& job);

} // namespace shardscope
