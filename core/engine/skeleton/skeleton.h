// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

#include <set>
#include <string>
#include <vector>

namespace shardscope {

struct SkeletonRequest {
    io::Path asked; ///< what was opened: opening the skeleton opens the same
    bool tagWasNamed = false; ///< with --tag
    io::Path out; ///< a name that ends in .zip
    bool force = false; ///< replace `out`
    std::set<std::string> keep; ///< client keys whose values stay
    std::string checkJson; ///< check.json
};

struct SkeletonReport {
    uint64_t files = 0;
    uint64_t bytesBefore = 0; ///< of these files
    uint64_t bytesAfter = 0; ///< of the skeleton
    std::vector<std::string> redactedKeys; ///< client keys whose values are gone
    std::vector<std::string> keptKeys;
    std::vector<std::string> sizeOnly; ///< files of which nothing but size and time is kept
};

/// The folder that stands for the run's in a skeleton: only a name that means something to DeepSpeed's
/// wrappers ("checkpoint-500") is kept of the original's.
std::string skeletonRunName(const Checkpoint& checkpoint);

/// Whether writeSkeleton() would begin; its refusals, before the source is examined.
Status checkSkeletonRequest(
    io::FileSystem& files, const Checkpoint& checkpoint, const SkeletonRequest& request);

/// Writes everything of a checkpoint but its values as one zip file
/// (core/torchfile/skeleton/skeleton_index.h).
///
/// Of torch files stays what skeletonContent() keeps, of pointer files all, of every other file (scripts,
/// manifests, random states, swap files, files of frameworks) its size and time. No path of the machine and
/// no name of the run folder is in it. `out` appears complete, read again and durable, or not at all; nothing
/// else is changed. Memory: the largest file's pickle with its graph, and the list of extents.
///
/// Usage: `out` has another ending, lies in the run folder, or a key to keep is not there. Unsupported: the
/// source is a skeleton, or no checkpoint of DeepSpeed's (weights, distributed checkpoints, swap folders).
/// TargetExists, NoSpace, NoPermission, WriteFailed, SourceChanged, Cancelled.
Result<SkeletonReport> writeSkeleton(
    io::FileSystem& files, const Checkpoint& checkpoint, const SkeletonRequest& request, JobContext& job);

} // namespace shardscope
