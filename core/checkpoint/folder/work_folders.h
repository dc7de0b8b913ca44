// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/io/file_system.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

struct RunListing;

/// What an unfinished job left behind: its work folder `.TAG.partial-ID` (core/engine/write/work_folder.h),
/// or the unfinished file `.NAME.partial-PID-N` of a report (core/io/published_file.h).
struct UnfinishedWork {
    io::Path path;
    std::string target; ///< TAG or NAME
    bool isFolder = false;
    bool isLink = false; ///< a symbolic link with such a name, which no job makes
    /// Files of the work folder are being moved into a folder that existed before. Until that ends, the
    /// target is neither the old export nor the new one.
    bool isPublishing = false;
    uint64_t bytes = 0; ///< of all files in it
    int64_t modifiedNs = 0; ///< the newest of them
    int64_t process = 0; ///< PID, of a file
};

/// Whether a job has an entry of this name and type in its work folder.
bool isWorkFolderEntry(const io::DirectoryEntry& entry);

/// The unfinished work in a folder, in byte order of the names. Empty if the folder cannot be listed. A
/// folder with such a name but other content is not a work folder.
std::vector<UnfinishedWork> findUnfinishedWork(io::FileSystem& files, const io::Path& folder);

/// One finding for each unfinished work in the checkpoint's folders. It is an error if the target is neither
/// the old export nor the new one, else an info. `listing`, if not null, is of the run folder.
std::vector<Finding> unfinishedWorkFindings(
    io::FileSystem& files, const Checkpoint& checkpoint, const RunListing* listing);

} // namespace shardscope
