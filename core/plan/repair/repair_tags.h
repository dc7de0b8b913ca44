// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

// Which tags a repair may use. A failing disk never decides this: an unreadable file is an error, a damaged
// one is skipped.

/// The run's tags, oldest first. Io errors if a folder cannot be listed.
Result<std::vector<std::string>> tagsOfRun(io::FileSystem& files, const io::Path& run);

/// A complete tag, whatever the run's pointer names. Null if a part of it is damaged, lost or not supported.
/// Refused if one of its files cannot be read.
Result<CheckpointPtr> wholeTag(
    io::FileSystem& files, const io::Path& run, const std::string& tag, JobContext& job);

/// The complete tag nearest to `tag`; the older one is preferred. Null if there is none, or no such tag.
Result<CheckpointPtr> neighbourTag(
    io::FileSystem& files, const io::Path& run, const std::string& tag, JobContext& job);

/// The newest complete tag. Refused if the run has none.
Result<CheckpointPtr> newestWholeTag(io::FileSystem& files, const io::Path& run, JobContext& job);

} // namespace shardscope
