// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/engine/stream/manifest_reader.h"
#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"

#include <optional>
#include <string>

namespace shardscope {

/// A folder with a manifest of this program: a tag, or an export.
struct MadeTarget {
    io::Path folder;
    std::string verb;
    std::string id; ///< of the plan
    std::string run; ///< ExecuteOptions::sourceRun; empty where a copy was not made by `ensure`
    Manifest manifest;
    int64_t writtenNs = 0; ///< the manifest, which is the last file of a target
};

/// Nothing if the folder has no manifest of a plan, or one that names files elsewhere than in it and next to
/// it. A link is no manifest: it may lead anywhere.
Result<std::optional<MadeTarget>> madeTarget(io::FileSystem& files, const io::Path& folder);

/// What became of the files of a target since its manifest was written.
struct TargetChanges {
    bool isWhole = true; ///< no file is missing or truncated
    std::string changed; ///< a file that somebody else has written; empty if there is none
};
enum class ChangesOf { Target, TargetAndNextToIt };

/// Sizes and times are compared, and the content of a file that was written later, such as by `cp -r`.
Result<TargetChanges> changesOf(
    io::FileSystem& files, const MadeTarget& target, ChangesOf which, JobContext& job);

/// What the plan's pointer file in `destination` says; empty without one.
Result<std::string> pointerText(io::FileSystem& files, const WritePlan& plan, const io::Path& destination);

/// Whether a finished run of this very plan wrote the target, with every file as it left it, and the pointer
/// file, if the plan has one, names it.
Result<bool> isDone(
    io::FileSystem& files, const WritePlan& plan, const io::Path& destination, JobContext& job);

} // namespace shardscope
