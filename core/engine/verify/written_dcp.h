// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/engine/verify/export_output.h"

namespace shardscope {

/// Adds the tensors of a written distributed checkpoint to `output`, by its `.metadata` and the archives that
/// it lists. VerifyFailed if these do not open, or if data is beyond the end of its file.
Status readDistributed(io::FileSystem& files, const io::Path& folder, const WritePlan& plan,
    ExportOutput& output, JobContext& job);

} // namespace shardscope
