// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint_kind.h"
#include "core/io/file_system.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

inline constexpr std::string_view kUniversalPointer = "latest_universal";

/// A folder and its entries.
struct Folder {
    io::Path path;
    std::vector<io::DirectoryEntry> entries;

    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] bool hasFolder(std::string_view name) const;
    /// Whether a file has a name that DeepSpeed gives to state files.
    [[nodiscard]] bool isTagFolder() const;
};
Result<Folder> listFolder(io::FileSystem& files, const io::Path& path);

bool isFolderOrLink(const io::DirectoryEntry& entry);
/// Whether a path exists but cannot be read: no permission, an I/O error, or a loop of links.
bool isUnreadable(const Error& error);

/// Whether the folder is what ds_to_universal.py writes. A native tag may be named "zero", too.
bool isUniversalFolder(io::FileSystem& files, const Folder& folder);

/// Sub-folders that hold DeepSpeed's files, oldest first. The error of one that exists and cannot be listed,
/// so that it may be a tag, is added to `unreadable` instead. `lost+found` belongs to the file system.
std::vector<std::string> tagsIn(
    io::FileSystem& files, const Folder& run, std::vector<Error>* unreadable = nullptr);

std::string wrapperOf(const Folder& run, const std::string& tag);
/// How Trainer, and Accelerate with automatic naming, name their checkpoints.
bool isNumberedCheckpoint(std::string_view name);
/// How Accelerate names the tags of several models in one folder (accelerator.py, save_state).
bool isAccelerateModel(std::string_view tag);
/// The checkpoints of a framework's output folder that contain a folder of DeepSpeed, oldest first.
std::vector<std::string> numberedCheckpoints(io::FileSystem& files, const Folder& output);
/// The kind of a folder without DeepSpeed's own files: Universal, Swap, or Unknown.
CheckpointKind foreignKindOf(io::FileSystem& files, const Folder& folder);

/// The file that identifies a folder as weights of another tool: of transformers, of PEFT, or NumPy files
/// with their index. Empty if there is none.
std::string weightsFileIn(const Folder& folder);

/// Whether discover() finds a tag in this folder, or chooses one of its checkpoints.
bool holdsCheckpoint(io::FileSystem& files, const Folder& folder);

} // namespace shardscope
