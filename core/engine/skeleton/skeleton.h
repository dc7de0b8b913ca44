// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/engine/skeleton: writes a checkpoint without its values, for bug reports. Start with
// writeSkeleton().

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

#include <set>
#include <string>
#include <vector>

namespace shardscope {

struct SkeletonRequest {
    io::Path asked; ///< the opened path: opening the skeleton opens the same
    bool tagWasNamed = false; ///< with --tag
    io::Path out; ///< a name that ends in .zip
    bool force = false; ///< replace `out`
    std::set<std::string> keep; ///< client keys to keep with their values
    std::string checkJson; ///< check.json
};

struct SkeletonReport {
    uint64_t files = 0;
    uint64_t bytesBefore = 0; ///< of these files
    uint64_t bytesAfter = 0; ///< of the skeleton
    std::vector<std::string> redactedKeys; ///< client keys with removed values
    std::vector<std::string> keptKeys;
    std::vector<std::string> sizeOnly; ///< files kept with size and time only
};

/// The name of the run folder in a skeleton. Keeps the original name only if it has a meaning for DeepSpeed's
/// wrappers ("checkpoint-500").
std::string skeletonRunName(const Checkpoint& checkpoint);

/// Success if a skeleton can be made from the checkpoint, wherever it is written.
Status requireSkeletonSource(io::FileSystem& files, const Checkpoint& checkpoint);

/// The errors of writeSkeleton() that do not need an examination of the source.
Status checkSkeletonRequest(
    io::FileSystem& files, const Checkpoint& checkpoint, const SkeletonRequest& request);

/// Writes a checkpoint without its values as one zip file
/// (core/torchfile/skeleton/skeleton_index.h).
///
/// Keeps the parts of torch files as in skeletonContent(), all of pointer files, and size and time of every
/// other file (scripts, manifests, random states, swap files, files of frameworks). It contains no path of
/// the machine and no name of the run folder. `out` appears complete, verified and durable, or not at all;
/// nothing else is changed. Memory: the largest file's pickle with its graph, and the list of extents.
///
/// Usage: `out` has another ending or is in the run folder, or a key to keep does not exist. Unsupported: the
/// source is a skeleton, or not a DeepSpeed checkpoint (weights, distributed checkpoints, swap folders).
/// TargetExists, NoSpace, NoPermission, WriteFailed, SourceChanged, Cancelled.
Result<SkeletonReport> writeSkeleton(
    io::FileSystem& files, const Checkpoint& checkpoint, const SkeletonRequest& request, JobContext& job);

} // namespace shardscope
