// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/folder_hold.h"
#include "core/plan/model/write_plan.h"

#include <vector>

namespace shardscope {

/// What may be in a work folder (work_folder.h). NoPermission for anything else: another user, or a person,
/// put it there, and it is neither removed nor published.

/// The entries of the folder itself.
Status checkWorkEntries(io::FileSystem& files, const io::FolderHold& hold, const io::Path& workFolder);

/// What is in parts/.
Status checkPartEntries(io::FileSystem& files, const io::FolderHold& hold, const io::Path& partsFolder);

/// files/ and all folders in it that the plan needs, a folder before what is in it.
std::vector<io::Path> outputFolders(const WritePlan& plan, const io::Path& workFolder);

enum class OutputNames { Finished, AlsoUnfinished };

/// All files below files/ and beside/. They must be regular files of this plan, with their names or, where
/// that is asked for, with those of unfinished files.
Result<std::vector<io::Path>> workOutputs(
    io::FileSystem& files, const WritePlan& plan, const io::Path& workFolder, OutputNames names);

/// Files that an earlier run finished: of this user, and with no other name, by which they could be changed.
Status checkFinishedFiles(const io::FolderHold& hold, const std::vector<io::Path>& finished);

/// Removes a work folder: its plan first, without which the rest is ignored, and its lock last, so that what
/// a killed process leaves of it is still known as one. The caller holds the folder or its parent.
Status removeWorkTree(io::FileSystem& files, const io::Path& workFolder);

} // namespace shardscope
