// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Checks that paths of the plan stay inside the target. They must not collide with each other or with files
/// of this program. Names of the target, the pointer and the files next to it must be plain. Internal
/// otherwise. Usage if the tag has the name of a file next to it.
Status checkPlanNames(const WritePlan& plan);

/// For planned files next to the target ("../NAME"): TargetExists if `destination` has another file with that
/// name. Compares bytes with the files in `made` if given, else sizes.
Status checkRunFolderFiles(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& made, JobContext& job);

/// Usage if `destination` is inside or equal to `sourceRunFolder` or contains it (also through links and bind
/// mounts), if it is not a folder, or is below a file. WriteFailed if its path has broken links or link
/// loops. An empty `sourceRunFolder` is not checked.
Status checkPlaces(io::FileSystem& files, const io::Path& destination, const io::Path& sourceRunFolder);

/// The same for every folder with a source of the plan outside `sourceRunFolder`, after following links:
/// additional roots, and tags that are links.
Status checkFurtherPlaces(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& sourceRunFolder);

/// Both checks for `destination`, or only for the plan's target in it (WritePlan::ownsFolder). Usage also if
/// the job reads data that it would replace.
Status checkTargetPlaces(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& sourceRunFolder);

/// Whether `path`, which exists, is `folder` or below it: by device and inode, so through links as well.
Result<bool> isInFolder(io::FileSystem& files, const io::Path& path, const io::Path& folder);
/// Whether both paths lead to the same file. False if either does not exist.
Result<bool> isSameFile(io::FileSystem& files, const io::Path& a, const io::Path& b);

/// NoSpace, with the needed, free and missing bytes, if `bytes` and `count` files do not fit below `folder`,
/// which does not need to exist. A little more than `bytes` is needed: for folders, journal and manifest.
Status checkSpace(io::FileSystem& files, const io::Path& folder, uint64_t bytes, uint64_t count);

/// Whether files may be created below `folder`, which does not need to exist. WriteFailed.
Status checkWritable(io::FileSystem& files, const io::Path& folder);

/// Bytes of files of the plan that take no space below `folder`, which does not need to exist, because they
/// share the bytes of their source. `isDone`: by number in files(), finished files to ignore.
uint64_t sharedBytes(io::FileSystem& files, const WritePlan& plan, const io::Path& folder,
    const std::function<bool(size_t file)>& isDone);

/// Free bytes below `folder`, which does not need to exist; empty if they cannot be determined.
std::optional<uint64_t> freeBytesAt(io::FileSystem& files, const io::Path& folder);

/// Creates a folder with all its parents, durably.
Status makeDurableFolder(io::FileSystem& files, const io::Path& folder);
/// The folders that makeDurableFolder() would create, the deepest first.
Result<std::vector<io::Path>> missingFolders(io::FileSystem& files, const io::Path& folder);

/// Converts a read error of the target: a target that cannot be read cannot be written either.
Error cannotWrite(Error error);
/// Whether the target exists. WriteFailed if this cannot be determined.
Result<bool> exists(io::FileSystem& files, const io::Path& path);
/// Success if --force may replace `target`: it is a folder, not a link, and has only files that DeepSpeed or
/// Shardscope write; for an export, checkExportReplaceable(). Else TargetExists, with a list of other files.
Status checkReplaceable(io::FileSystem& files, const WritePlan& plan, const io::Path& target);
/// Whether something conflicts with the plan's target. For a tag, anything at `target`; for an export, files
/// with the names that it writes, and a `target` that is not a folder.
Result<bool> isOccupied(io::FileSystem& files, const WritePlan& plan, const io::Path& target);

} // namespace shardscope
