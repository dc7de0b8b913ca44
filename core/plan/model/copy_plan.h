// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/write_plan.h"

#include <memory>
#include <string>

namespace shardscope {

/// A plan that copies a tag folder byte by byte, damage and all, but for the manifest, which is its own.
/// Links are followed. Nothing is promised of what the copy holds; only that its bytes are the source's.
/// Unreadable.
Result<std::shared_ptr<const WritePlan>> planCopy(
    io::FileSystem& files, const Checkpoint& source, bool writePointer, JobContext& job);

} // namespace shardscope
