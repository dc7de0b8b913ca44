// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/io/file_system.h"

#include <functional>

namespace shardscope {

/// The part of a checkpoint that a file belongs to, its entry, and its content.
using DroppedFileVisitor
    = std::function<void(const Checkpoint& part, const CheckpointFile& file, const TorchFile& content)>;

/// Visits ZeRO-3 model files with many records, because the reader did not keep their content. Opens a few
/// files at a time, so that memory is bounded, and visits one at a time in the order of ranks. Returns an
/// error if a file does not open: later ones are not visited.
Status forEachDroppedFile(
    const Checkpoint& checkpoint, io::FileSystem& files, JobContext& job, const DroppedFileVisitor& visit);

} // namespace shardscope
