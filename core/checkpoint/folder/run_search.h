// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"

#include <functional>
#include <string>
#include <vector>

namespace shardscope {

/// Folders that hold checkpoints, below a folder that is none.
struct FoundRuns {
    std::vector<std::string> paths; ///< absolute, in the order of their names
    bool more = false; ///< not all folders were searched
    std::vector<Error> unreadable = {}; ///< folders that exist and cannot be listed: each may hold a run
    std::vector<std::string> links = {}; ///< absolute; not followed, so it is not known what they lead to
};

/// A folder that is no run and holds runs.
struct RunsFolder {
    io::Path path;
    FoundRuns found;
};

/// Whether a folder with these entries is something to open, for example a run folder.
using IsRun = std::function<bool(const io::Path& folder, const std::vector<io::DirectoryEntry>& entries)>;

/// Searches below `folder`, not inside of runs. Follows no links, and looks at a limited number of folders
/// and levels: `folder` may be a whole disk. Errors: Cancelled.
Result<FoundRuns> findRunsBelow(
    io::FileSystem& files, const io::Path& folder, const IsRun& isRun, JobContext& job);
/// The same, where a run is whatever discover() opens.
Result<FoundRuns> runsBelow(io::FileSystem& files, const io::Path& folder, JobContext& job);

/// The runs below `path`, which could not be opened: `why`, of discover() or tagsOf(). Without runs if there
/// are none, or if the folder holds a checkpoint itself. Errors: Cancelled.
Result<RunsFolder> runsInsteadOf(
    io::FileSystem& files, const io::Path& path, const Error& why, JobContext& job);

/// An error with them: `what` and their number, their names, and the hint to give one of them.
Error errorWithRuns(ErrorCode code, const std::string& what, const io::Path& folder, const FoundRuns& runs);

} // namespace shardscope
