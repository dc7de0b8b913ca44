// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// How the manifests of a run's copies record the run (ExecuteOptions::sourceRun): a digest of the path of
/// its folder and of its inode, as 16 hex digits. Another run in a folder of the same name is another one.
Result<std::string> identityOfRun(io::FileSystem& files, const io::Path& run);

/// A copy, and where it is to be.
struct WantedCopy {
    const WritePlan& plan;
    io::Path destination;
    std::string run; ///< identityOfRun() of the source
};

enum class CopyState {
    Absent,
    Whole, ///< the plan's id, every file with its size, not changed since then; the pointer file names it
    Outdated, ///< nothing but a copy: of an older state of the tag, or with missing, truncated or damaged
              ///< files
};

/// What is in the copy's place. TargetExists if it is not certain that this is a copy of the run and that
/// nobody has changed it, or if the pointer file there names a tag for which this is so: a run has saved
/// there. Unreadable if it cannot be looked at.
Result<CopyState> stateOf(io::FileSystem& files, const WantedCopy& copy, JobContext& job);
/// TargetExists if that is not certain of a whole copy; else it may be replaced.
Status checkOwned(io::FileSystem& files, const WantedCopy& copy, JobContext& job);

/// A folder of copies.
struct CopiesFolder {
    io::Path folder;
    bool numbered = false; ///< it has one folder for each copy
    io::Path current; ///< the folder in it that is the copy of now
};

struct RemovedCopies {
    std::vector<io::Path> removed;
    std::vector<std::pair<io::Path, std::string>> kept; ///< older copies that must stay, and why
};

/// Removes copies of older tags than the current one until `keep` are left with it, the oldest first, in the
/// natural order of their names. Only folders whose manifest says that they are copies of the same run, with
/// no other file in them and none that was changed since. A copy of a newer tag stays: its source may be
/// damaged by now. What is left after an interruption is still such a copy, and removed by the next call.
Result<RemovedCopies> removeOldCopies(io::FileSystem& files, const CopiesFolder& copies,
    const WantedCopy& current, size_t keep, JobContext& job);

} // namespace shardscope
