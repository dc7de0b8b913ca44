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

/// Where the files are that a tag folder lacks.
struct SplitFolders {
    std::vector<io::Path> folders; ///< each holds some of them; empty when none is found
    std::vector<std::string> missing; ///< names of files that the checkpoint lacks
    std::vector<std::string> left; ///< those of them that no folder holds either
    std::optional<Error> notRead; ///< of the first folder that may hold them and cannot be read
    bool whole = false; ///< opened together, nothing is missing, and nothing contradicts
};

/// Looks into the folders beside a checkpoint's tag, and for the same tag in those beside its run. Those that
/// hold missing files, and no optimizer file that it has, are opened together with it: where steps, world
/// size, options or the layout contradict, a folder does not count; nor does one that this program wrote. Two
/// runs of one script at the same step look alike in all of these. Cancelled when stopped.
Result<SplitFolders> findSplitFolders(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job);

/// The finding's lines that name the folders, and what they name.
std::vector<std::string> evidenceOf(const std::vector<io::Path>& folders);
std::vector<io::Path> foldersIn(const Finding& finding);

} // namespace shardscope
