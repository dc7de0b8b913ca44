// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/work_folder.h"

#include <string>
#include <vector>

namespace shardscope {

/// An export goes into a folder that may hold other files. It replaces only files of the names that it
/// writes, and files that an earlier export of ours wrote there under other names (those that its manifest
/// lists, where they still have the listed size). All other files are never touched.
///
/// The files come to their places one by one. `publishing` in the work folder says that this has begun; from
/// then on the old manifest is out of the way, and the new one comes last. So a folder between two exports
/// never verifies, and the same command continues.

/// Files in the existing folder `target`, relative to it, that the plan replaces or removes. In byte order.
Result<std::vector<std::string>> replacedByExport(
    io::FileSystem& files, const WritePlan& plan, const io::Path& target);

/// Whether something in the existing folder `target` is in the way of the plan's names.
Result<bool> hasExportedNames(io::FileSystem& files, const WritePlan& plan, const io::Path& target);

/// Success when every name that the plan writes below `target` is free or that of a regular file, and all
/// folders on the way are folders. Else TargetExists.
Status checkExportReplaceable(io::FileSystem& files, const WritePlan& plan, const io::Path& target);

/// Whether an interrupted run began to move finished files from the work folder to `target`, and each file is
/// still in one of the two places.
Result<bool> isPublishing(
    io::FileSystem& files, const WritePlan& plan, const WorkFolder& work, const io::Path& target);

/// Moves the finished files to `target`, which exists. Continues where an earlier run was interrupted.
/// TargetExists when a file is in the way and `replace` is false.
Status publishIntoFolder(
    io::FileSystem& files, const WritePlan& plan, WorkFolder& work, const io::Path& target, bool replace);

} // namespace shardscope
