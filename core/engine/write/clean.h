// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/folder/work_folders.h"

#include <optional>
#include <vector>

namespace shardscope {

/// One piece of unfinished work, and its removal.
struct CleanEntry {
    /// Foreign: a link, or of another user. It is neither looked into nor removed.
    enum class State { Abandoned, InUse, HalfPublished, Foreign, Removed };
    UnfinishedWork work;
    State state = State::Abandoned;
    std::optional<uint64_t> ageSeconds{}; ///< since the newest of its files was written; not of a link
};

/// The unfinished work in `folder`. With `removes`, removes abandoned work. Keeps work in use: a running job
/// holds the lock of its work folder, and a file is in use while its process runs on this machine. Also keeps
/// partly published work: the work folder has the only copy of files of the target; and what is foreign.
/// Unreadable or NotFound if the folder cannot be listed.
Result<std::vector<CleanEntry>> cleanFolder(
    io::FileSystem& files, const io::Path& folder, bool removes, JobContext& job);

/// The same, for what a user was shown: removes of the abandoned work only `shown`, and of that only what has
/// not changed since.
Result<std::vector<CleanEntry>> cleanShown(
    io::FileSystem& files, const io::Path& folder, const std::vector<UnfinishedWork>& shown, JobContext& job);

/// Removes one work folder with all that its job finished. Another state if it is kept, as above;
/// Removed also if it is not there.
Result<CleanEntry::State> discardWorkFolder(io::FileSystem& files, const io::Path& workFolder);

/// Whether a running job holds the work folder's lock.
bool isWorkFolderInUse(io::FileSystem& files, const io::Path& workFolder);

} // namespace shardscope
