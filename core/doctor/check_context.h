// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/doctor/diagnosis.h"
#include "core/doctor/target.h"
#include "core/torchfile/torch_file_sniff.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

struct ByteFacts;

/// One entry of a folder that is looked at.
struct FolderEntry {
    std::string name;
    bool isFolder = false;
    io::FileIdentity identity; ///< of files; zero where it cannot be had
    std::optional<CheckpointFileName> parsed; ///< of names that DeepSpeed gives to state files
};
/// The entries of a folder in the order of their names; empty where there is no folder. An error where there
/// is one that cannot be listed.
Result<std::vector<FolderEntry>> folderEntries(io::FileSystem& files, const io::Path& folder);

/// What the first bytes and the end of a state file say.
struct FileHeader {
    std::string name; ///< relative to the tag folder
    uint64_t bytes = 0;
    std::string head; ///< kSniffBytes of it, or all that there is
    FileKind kind;
    std::optional<Error> unreadable; ///< set when it cannot be opened or read
    std::optional<Error> noEnd; ///< a zip file by its first bytes, and its end record is not there or wrong
};

/// What is known of a checkpoint that is examined, tier by tier. Immutable while diagnoses look at it, so
/// thread-safe.
struct CheckContext {
    io::FileSystem& files;
    JobContext& job;
    CheckTarget target;
    io::Path asked; ///< PATH as it was given
    CheckDepth depth = CheckDepth::Names; ///< of the tier that is looked at

    // names
    Discovery found;
    std::vector<FolderEntry> tag; ///< of the tag folder; empty when none was chosen
    std::vector<FolderEntry> run; ///< of the run folder, beside the tag
    // headers
    std::vector<FileHeader> headers; ///< of the tag folder's state files
    // metadata
    CheckpointPtr checkpoint; ///< null below, and where nothing of it can be opened
    // bytes
    std::shared_ptr<const ByteFacts> bytes; ///< null below, and without a model

    unsigned jobs = 1; ///< threads for what a diagnosis reads beyond that

    /// Whether there is a logical model: parameters, layout, places of values.
    [[nodiscard]] bool hasModel() const { return checkpoint && !checkpoint->modelError; }
};

/// Reads the headers of the tag folder's state files.
Result<std::vector<FileHeader>> readHeaders(const CheckContext& context, unsigned jobs);

} // namespace shardscope
