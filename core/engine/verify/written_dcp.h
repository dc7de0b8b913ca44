// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/engine/verify/export_output.h"

namespace shardscope {

/// Adds the tensors of a distributed checkpoint that was written to `output`, by its `.metadata` and the
/// archives that those lead to. VerifyFailed where these do not open, and where anything lies beyond its
/// file.
Status readDistributed(io::FileSystem& files, const io::Path& folder, const ExportPlan& plan,
    ExportOutput& output, JobContext& job);

} // namespace shardscope
