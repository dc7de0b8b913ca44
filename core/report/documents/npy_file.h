// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/report/answers/show_report.h"

namespace shardscope {

/// Writes one whole tensor as a NumPy file (format 1.0, C order), streaming in pieces of a few MiB.
///
/// NumPy has no bfloat16, float8 and complex32. They are converted exactly to float32 or complex64. The file
/// appears complete and synced, or not at all. TargetExists unless `replace`. Refused if elements are
/// missing. Format: NEP 1, numpy/lib/format.py.
Result<NpyReport> writeNpyFile(io::FileSystem& files, const Checkpoint& checkpoint, ParamId param,
    std::string_view state, DType dtype, const io::Path& path, bool replace, JobContext& job);

} // namespace shardscope
