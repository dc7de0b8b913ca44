// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

// Which tags a repair may take. A disk that fails never decides it: what cannot be read is an error, while
// what lies there damaged is passed over.

/// The run's tags, oldest first. Io errors where a folder cannot be listed.
Result<std::vector<std::string>> tagsOfRun(io::FileSystem& files, const io::Path& run);

/// A tag of which everything is there, whatever the run's pointer says; null where something of it is
/// damaged, lost, or not supported. Refused where a file of it cannot be read.
Result<CheckpointPtr> wholeTag(
    io::FileSystem& files, const io::Path& run, const std::string& tag, JobContext& job);

/// The one of them that is next to `tag`, the older one first; null where there is none, or no such tag.
Result<CheckpointPtr> neighbourTag(
    io::FileSystem& files, const io::Path& run, const std::string& tag, JobContext& job);

/// The newest of them; Refused where no tag of the run is whole.
Result<CheckpointPtr> newestWholeTag(io::FileSystem& files, const io::Path& run, JobContext& job);

} // namespace shardscope
