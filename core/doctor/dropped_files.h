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

/// Visits the ZeRO-3 model files whose content the reader did not keep, because it has many records. They
/// are opened again a few at a time, so that memory stays bounded, and visited one at a time in the order of
/// their ranks. An error where one does not open: later ones are not visited.
Status forEachDroppedFile(
    const Checkpoint& checkpoint, io::FileSystem& files, JobContext& job, const DroppedFileVisitor& visit);

} // namespace shardscope
