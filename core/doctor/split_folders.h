// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

inline constexpr std::string_view kSplitShards = "split-shards"; ///< the finding's code

/// Folders that have the missing files of a tag folder.
struct SplitFolders {
    std::vector<io::Path> folders; ///< each has some of the files; empty if none is found
    std::vector<std::string> missing; ///< names of the missing files
    std::vector<std::string> left; ///< names of files that no folder has
    std::optional<Error> notRead; ///< of the first candidate folder that cannot be read
    bool whole = false; ///< together nothing is missing, and nothing contradicts
};

/// Searches the folders next to a checkpoint's tag, and the same tag in the folders next to its run. Folders
/// with missing files, and without an optimizer file that the checkpoint has, are opened together with it. A
/// folder is rejected if steps, world size, options or the layout contradict, or if this program wrote it.
/// Two runs of one script at the same step look the same. Returns Cancelled when stopped.
Result<SplitFolders> findSplitFolders(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job);

} // namespace shardscope
