// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/discover.h"

#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// A run folder, or a framework's output folder, that was listed once. Opening all of its tags then takes
/// time in proportion to their number: discover() lists every tag to find one.
struct RunListing {
    io::Path folder;
    std::vector<io::DirectoryEntry> entries;
    Discovery run; ///< of a run folder: all but the tag
    std::vector<std::string> numbered; ///< of an output folder: its checkpoints, oldest first
};

/// `isOutput`: the folder is a framework's output folder.
Result<std::shared_ptr<const RunListing>> listRun(
    io::FileSystem& files, const io::Path& folder, bool isOutput, JobContext& job);

/// What discover() finds for the listed folder and this tag, which is not empty.
Result<Discovery> discoverIn(
    io::FileSystem& files, const RunListing& listing, const std::string& tag, JobContext& job);

} // namespace shardscope
