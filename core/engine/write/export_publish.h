// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/work_folder.h"

#include <string>
#include <vector>

namespace shardscope {

/// An export writes into a folder that may have other files. It replaces only files with the names that it
/// writes, and files of an earlier export (those that its manifest lists, if they still have the listed
/// size). It never changes other files.
///
/// Files are moved to their places one by one. `publishing` in the work folder marks the begin; then the old
/// manifest is removed, and the new one is moved last. So a folder between two exports never verifies, and
/// the same command continues.

/// Files in the existing folder `target`, relative to it, that the plan replaces or removes. In byte order.
Result<std::vector<std::string>> replacedByExport(
    io::FileSystem& files, const WritePlan& plan, const io::Path& target);

/// Whether something in the existing folder `target` conflicts with the plan's names.
Result<bool> hasExportedNames(io::FileSystem& files, const WritePlan& plan, const io::Path& target);

/// Success if every path that the plan writes below `target` is free or a regular file, and all parents are
/// folders or absent. Else TargetExists.
Status checkExportReplaceable(io::FileSystem& files, const WritePlan& plan, const io::Path& target);

/// Whether an interrupted run began to move finished files from the work folder to `target`, and each file is
/// still in one of the two places, as it was sealed.
Result<bool> isPublishing(io::FileSystem& files, const WritePlan& plan, const WorkFolder& work,
    const io::Path& target, JobContext& job);

/// Moves the finished files to `target`, which exists. Continues where an earlier run was interrupted.
/// TargetExists if a file exists already and `replace` is false.
Status publishIntoFolder(
    io::FileSystem& files, const WritePlan& plan, WorkFolder& work, const io::Path& target, bool replace);

} // namespace shardscope
