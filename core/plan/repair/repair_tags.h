// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

// Which tags a repair may use. A failing disk never decides this: an unreadable file is an error, a damaged
// one is skipped.

/// The run's tags, oldest first. Io errors where a folder cannot be listed.
Result<std::vector<std::string>> tagsOfRun(io::FileSystem& files, const io::Path& run);

/// A complete tag, whatever the run's pointer says; null where a part of it is damaged, lost or not
/// supported. Refused where a file of it cannot be read.
Result<CheckpointPtr> wholeTag(
    io::FileSystem& files, const io::Path& run, const std::string& tag, JobContext& job);

/// The one of them that is next to `tag`, the older one first; null where there is none, or no such tag.
Result<CheckpointPtr> neighbourTag(
    io::FileSystem& files, const io::Path& run, const std::string& tag, JobContext& job);

/// The newest of them; Refused where no tag of the run is whole.
Result<CheckpointPtr> newestWholeTag(io::FileSystem& files, const io::Path& run, JobContext& job);

} // namespace shardscope
