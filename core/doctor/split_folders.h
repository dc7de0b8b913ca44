// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/checkpoint.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

inline constexpr std::string_view kSplitShards = "split-shards"; ///< the finding's code

/// Where the files are that a tag folder lacks.
struct SplitFolders {
    std::vector<io::Path>
        folders; ///< each holds some of them; empty when nothing is missing, or nothing found
    std::vector<std::string> missing; ///< names of files that the checkpoint lacks
    std::vector<std::string> left; ///< those of them that no folder holds either
    bool whole = false; ///< opened together, nothing is wrong with them
};

/// Looks into the folders beside a checkpoint's tag, and for the same tag in those beside its run. Those that
/// hold missing files, and no optimizer file that it has, are opened together with it: steps, world size,
/// options and samples of values must agree, or a folder does not count; nor does one that this program
/// wrote. Cancelled when stopped.
Result<SplitFolders> findSplitFolders(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job);

} // namespace shardscope
