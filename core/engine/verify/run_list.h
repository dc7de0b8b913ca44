// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/run_search.h"
#include "core/engine/verify/run_tags.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// A run in a folder of runs, as far as names, sizes and headers of its newest tags show. Older tags are only
/// counted: a folder may hold hundreds of runs.
struct RunSummary {
    std::string name; ///< its folder, relative to the folder of runs
    io::Path folder;
    std::optional<Error> error = {}; ///< why its tags cannot be listed; then only the fields above are set
    RunTags tags;
    /// The newest tags, newest first, down to the first complete one; at most kMostTagsOfRun. One without a
    /// name for a checkpoint that has no tags.
    std::vector<TagSummary> read = {};

    /// Null if none of those that were read is.
    [[nodiscard]] const TagSummary* newestComplete() const;
    /// What to show for the run: the newest complete tag, else the newest one. Null after an error.
    [[nodiscard]] const TagSummary* shown() const;
    /// Tags that were not read.
    [[nodiscard]] size_t unread() const;
    /// Findings of the tags that were read, and of the pointer file.
    [[nodiscard]] size_t count(Severity severity) const;
};
inline constexpr size_t kMostTagsOfRun = 8;

/// Reads one of the runs of RunsFolder. Fails only if cancelled: a run that cannot be read has `error` set.
Result<RunSummary> summarizeRun(
    io::FileSystem& files, const RunsFolder& runs, const io::Path& folder, unsigned jobs, JobContext& job);

} // namespace shardscope
