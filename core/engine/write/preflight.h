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

/// Paths of the plan stay inside the target, do not clash, and leave room for our own files; names of the
/// target, the pointer and the files beside it are plain. Internal otherwise: plans are made by us. Usage
/// when the tag has the name of a file next to it.
Status checkPlanNames(const WritePlan& plan);

/// For planned files that lie beside the target ("../NAME"): TargetExists when `destination` holds another
/// file of that name. Where `made` is given, the bytes of those that wait there are compared, else the sizes.
Status checkBeside(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& made, JobContext& job);

/// Usage when `destination` is inside, equal to or around `sourceRunFolder` (through links and bind mounts as
/// well), when it is no folder, or lies below a file. WriteFailed when links on its way loop or lead nowhere.
/// An empty `sourceRunFolder` is not looked at.
Status checkPlaces(io::FileSystem& files, const io::Path& destination, const io::Path& sourceRunFolder);

/// The same for every folder that holds a source of the plan and is outside `sourceRunFolder` once links are
/// followed: further roots, and tags that are links.
Status checkFurtherPlaces(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& sourceRunFolder);

/// Both of them for what must keep away from the source: `destination`, or the plan's target in it where
/// that stands alone (WritePlan::ownsFolder). Usage also when what the job would replace is read by it.
Status checkTargetPlaces(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& sourceRunFolder);

/// Whether `path`, which exists, is `folder` or below it: by device and inode, so through links as well.
Result<bool> isInFolder(io::FileSystem& files, const io::Path& path, const io::Path& folder);
/// Whether both names lead to one file. False where either leads nowhere.
Result<bool> isSameFile(io::FileSystem& files, const io::Path& a, const io::Path& b);

/// NoSpace, with the bytes that are needed, there and missing, when `bytes` and `count` files do not fit
/// below `folder`, which may be absent still.
Status checkSpace(io::FileSystem& files, const io::Path& folder, uint64_t bytes, uint64_t count);

/// Bytes of files of the plan that take no space below `folder`, which may be absent still, because they
/// share their source's. `isDone`: by number in files(), those that count no more.
uint64_t sharedBytes(io::FileSystem& files, const WritePlan& plan, const io::Path& folder,
    const std::function<bool(size_t file)>& isDone);

/// Bytes free for us below `folder`, which may be absent still; nothing where it cannot be determined.
std::optional<uint64_t> freeBytesAt(io::FileSystem& files, const io::Path& folder);

/// Makes a folder with all its parents, on disk when it returns.
Status makeDurableFolder(io::FileSystem& files, const io::Path& folder);
/// The folders that makeDurableFolder() would make, the deepest first.
Result<std::vector<io::Path>> missingFolders(io::FileSystem& files, const io::Path& folder);

/// The error of a look at the target: what cannot be read there cannot be written either.
Error cannotWrite(Error error);
/// Whether something of the target is there. False where there is nothing; WriteFailed where it cannot be
/// told.
Result<bool> exists(io::FileSystem& files, const io::Path& path);
/// Success when --force may replace what is at `target`: a folder, no link to one, with no file that neither
/// DeepSpeed nor Shardscope writes; for an export, checkExportReplaceable(). Else TargetExists, with these
/// files named.
Status checkReplaceable(io::FileSystem& files, const WritePlan& plan, const io::Path& target);
/// Whether something is in the way of the plan's target. In the way of a tag is whatever is at `target`; in
/// the way of an export are files of the names that it writes, and a `target` that is no folder.
Result<bool> isOccupied(io::FileSystem& files, const WritePlan& plan, const io::Path& target);

} // namespace shardscope
