// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/file_names.h"
#include "core/io/file_system.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// What a path is, determined before any file is opened.
struct Discovery {
    io::Path runFolder; ///< holds `latest` and the tags; empty for a single file without a run
    io::Path tagFolder; ///< empty if no tag could be chosen
    std::string tag;
    std::string selectedFile; ///< name inside tagFolder, if the path was a file
    std::optional<std::string> latest; ///< content of `latest`, stripped
    std::vector<std::string> tags; ///< oldest first
    std::string wrapper; ///< see Checkpoint::wrapper
    CheckpointKind foreignKind
        = CheckpointKind::Unknown; ///< Universal, Swap: recognised by the folder's content
    /// Folders next to the tag that exist and cannot be listed. Each may be a newer tag.
    std::vector<std::string> unreadableFolders;
    std::vector<Finding> findings;
};

/// Finds the run folder, its tags and the tag for any level of PATH (design.md 5, cli.md "Every verb").
///
/// `latest` is a hint. It must contain the plain name of an existing folder; else a finding is added and no
/// tag is chosen. A file or folder that exists and cannot be read (permission, I/O error) never counts as
/// absent: it causes an error or a finding of its own. Errors: NotFound, Unreadable, NotACheckpoint.
Result<Discovery> discover(
    io::FileSystem& files, const io::Path& path, const std::string& tag, JobContext& job);

/// What to open instead, after an error of discover(): the runs below its folder, or the models in it.
/// Absolute paths.
std::vector<std::string> runsInstead(io::FileSystem& files, const Error& error, JobContext& job);

/// Whether a folder was searched, and holds no checkpoint, tag or run: a run that has not saved yet. False if
/// there are too many folders below to search all of them.
Result<bool> holdsNoCheckpoint(io::FileSystem& files, const io::Path& folder, JobContext& job);

} // namespace shardscope
