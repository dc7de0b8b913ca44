// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/base/result.h"
#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/open/open.h"
#include "core/doctor/diagnosis.h"
#include "core/io/file_system.h"
#include "core/torchfile/torch_file_sniff.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The planned use of a checkpoint: the doctor reports what prevents it. Fields that are not set are not
/// checked.
struct CheckTarget {
    std::optional<uint32_t> worldSize;
    std::optional<int> stage; ///< ZeRO, 0 to 3
    std::optional<uint64_t> memoryBytes; ///< of the machine that will process it
    std::optional<io::Path> disk; ///< a folder on the disk for copies
};

/// "world-size=8,stage=3,memory=64G,disk=/scratch", each at most once. A comma in a value is written `\,`.
/// Usage for anything else.
Result<CheckTarget> parseCheckTarget(std::string_view text);
/// What parseCheckTarget() reads as this target; empty for any use.
std::string checkTargetWord(const CheckTarget& target);

struct ByteFacts;

/// One entry of an examined folder.
struct FolderEntry {
    std::string name;
    bool isFolder = false;
    io::FileIdentity identity; ///< of files; zero if unavailable
    std::optional<CheckpointFileName> parsed; ///< set if DeepSpeed gives such names to state files
};
/// The entries of a folder in the order of their names; empty if the folder does not exist. An error if it
/// cannot be listed.
Result<std::vector<FolderEntry>> folderEntries(io::FileSystem& files, const io::Path& folder);

/// Facts from the first bytes and the end of a state file.
struct FileHeader {
    std::string name; ///< relative to the tag folder
    uint64_t bytes = 0;
    std::string head; ///< the first kSniffBytes, or all of a shorter file
    FileKind kind;
    std::optional<Error> unreadable; ///< set when it cannot be opened or read
    std::optional<Error> noEnd; ///< a zip file by its first bytes, with a missing or wrong end record
};

/// The facts about an examined checkpoint, tier by tier. Immutable while diagnoses read it, so thread-safe.
struct CheckContext {
    io::FileSystem& files;
    JobContext& job;
    CheckTarget target;
    io::Path asked; ///< PATH as given
    const OpenOptions& open; ///< how it is opened
    CheckDepth depth = CheckDepth::Names; ///< the current tier

    // names
    Discovery found;
    std::vector<FolderEntry> tag; ///< of the tag folder; empty when none was chosen
    std::vector<FolderEntry> run; ///< of the run folder, which contains the tag
    // headers
    std::vector<FileHeader> headers; ///< of the tag folder's state files
    // metadata
    CheckpointPtr checkpoint; ///< null in lower tiers, and if nothing can be opened
    // bytes
    std::shared_ptr<const ByteFacts> bytes; ///< null in lower tiers, and without a model

    unsigned jobs = 1; ///< threads for further reads of a diagnosis

    /// Whether there is a logical model: parameters, layout, places of values.
    [[nodiscard]] bool hasModel() const { return checkpoint && !checkpoint->modelError; }
};

/// Reads the headers of the tag folder's state files.
Result<std::vector<FileHeader>> readHeaders(const CheckContext& context, unsigned jobs);

} // namespace shardscope
