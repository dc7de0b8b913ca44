// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/file_names.h"
#include "core/io/file_system.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// What a path turned out to be, before any file is opened.
struct Discovery {
    io::Path runFolder; ///< holds `latest` and the tags; empty for a lone file
    io::Path tagFolder; ///< empty when no tag could be chosen
    std::string tag;
    std::string selectedFile; ///< name inside tagFolder, when the path was a file
    std::optional<std::string> latest; ///< content of `latest`, stripped
    std::vector<std::string> tags; ///< oldest first
    std::string wrapper; ///< see Checkpoint::wrapper
    CheckpointKind foreignKind
        = CheckpointKind::Unknown; ///< Universal, Swap: recognised by their folder alone
    /// Folders beside the tag that cannot be listed, though they are there: each may be a newer tag.
    std::vector<std::string> unreadableFolders;
    std::vector<Finding> findings;
};

/// Finds run folder, tags and tag for any level of PATH (design.md 5, cli.md "Every verb").
///
/// `latest` is a hint: it must be a plain folder name that exists, else it is a finding and no tag is chosen.
/// What is there and cannot be read (permission, I/O error) is never taken for absent: it is an error or a
/// finding of its own. NotFound, Unreadable, NotACheckpoint.
Result<Discovery> discover(
    io::FileSystem& files, const io::Path& path, const std::string& tag, JobContext& job);

} // namespace shardscope
