// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <memory>
#include <optional>

namespace shardscope::io {

/// The type of what is at `path`, links not followed; nothing where the folder has no such entry.
Result<std::optional<FileType>> entryType(FileSystem& files, const Path& path);

/// A new file next to `path`, to be moved to `path` once it is complete. Its name `.NAME.partial-…` (as for
/// all unfinished work) is unique. TargetExists where something is there and `replace` is false, and where it
/// is not a regular file: FIFOs, devices, folders and links (also those to files) are never replaced.
Result<std::unique_ptr<WriteFile>> createForPublishing(FileSystem& files, const Path& path, bool replace);

/// Only the refusals of createForPublishing().
Status checkPublishable(FileSystem& files, const Path& path, bool replace);

/// Syncs and closes the file, renames it to `path`, and syncs the folder: it is there after a loss of power.
/// Removes it where anything before the last step, or `done`, fails.
Status publishFile(FileSystem& files, WriteFile& file, const Path& path, bool replace, Status done);

} // namespace shardscope::io
