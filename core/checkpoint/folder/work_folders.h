// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/io/file_system.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

/// What an unfinished job left: its work folder `.TAG.partial-ID` (core/engine/write/work_folder.h), or the
/// unfinished file `.NAME.partial-PID-N` of a report (core/io/published_file.h).
struct UnfinishedWork {
    io::Path path;
    std::string target; ///< TAG or NAME
    bool isFolder = false;
    /// A work folder whose files are being moved into a folder that was there before: until that has ended,
    /// the target is neither the old export nor the new one.
    bool isPublishing = false;
    uint64_t bytes = 0; ///< of all files in it
    int64_t modifiedNs = 0; ///< the newest of them
    int64_t process = 0; ///< PID, of a file
};

/// The unfinished work in a folder, in byte order of the names. Empty where the folder cannot be listed. A
/// folder that has such a name and other content than a work folder is not one.
std::vector<UnfinishedWork> findUnfinishedWork(io::FileSystem& files, const io::Path& folder);

/// One finding for each unfinished work in the checkpoint's folders: an info, or an error where the target is
/// neither the old export nor the new one.
std::vector<Finding> unfinishedWorkFindings(io::FileSystem& files, const Checkpoint& checkpoint);

} // namespace shardscope
