// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/write_plan.h"

#include <memory>
#include <string>

namespace shardscope {

/// A plan that copies a tag folder byte by byte, including any damage, and the scripts next to it. Only the
/// manifest is new. Links are
/// followed. Verifies only that the copy has the source's bytes, not their meaning. Error: Unreadable.
Result<WritePlanPtr> planCopy(
    io::FileSystem& files, const Checkpoint& source, bool writePointer, JobContext& job);

} // namespace shardscope
