// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/io/file_system.h"

#include <functional>

namespace shardscope {

/// A file whose content the reader did not keep, opened again.
struct DroppedFile {
    const Checkpoint& part; ///< the part of the checkpoint that it belongs to
    const CheckpointFile& file;
    const TorchFile& content;
    /// Whether it has the pickle of the file that was visited before: most ranks have the same one.
    bool repeatsPickle = false;
};
using DroppedFileVisitor = std::function<void(const DroppedFile& dropped)>;

/// Visits ZeRO-3 model files with many records, because the reader did not keep their content. Opens a few
/// files at a time, so that memory is bounded, and visits one at a time in the order of ranks. Equal pickles
/// are interpreted once. Returns an error if a file does not open: later ones are not visited.
Status forEachDroppedFile(
    const Checkpoint& checkpoint, io::FileSystem& files, JobContext& job, const DroppedFileVisitor& visit);

} // namespace shardscope
