// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"

namespace shardscope {

/// The parent of a job's work folder: the destination, or the target of an export if it exists.
///
/// An export into an existing folder works in that folder, which may be a mount point. An interrupted job
/// with a work folder next to it continues there, unless the folder is now on another device.
Result<io::Path> workPlaceOf(io::FileSystem& files, const WritePlan& plan, const io::Path& destination);

/// The checks before a job does anything: names, places and memory. Usage, WriteFailed, Internal.
Status checkJob(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options);

/// SourceChanged if a source is not as it was when the plan was made.
Status checkSourcesAsPlanned(io::FileSystem& files, const WritePlan& plan);

} // namespace shardscope
