// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

namespace shardscope::io {

/// A new file next to `path`, of a name that nothing else has, for what is to be at `path` once it is
/// complete. TargetExists where something is there and `replace` is false, and where it is no regular file:
/// FIFOs, devices, folders and links (also those to files) are never replaced.
Result<std::unique_ptr<WriteFile>> createForPublishing(FileSystem& files, const Path& path, bool replace);

/// Only the refusals of createForPublishing().
Status checkPublishable(FileSystem& files, const Path& path, bool replace);

/// Syncs and closes the file and renames it to `path`; removes it where that, or `done`, fails.
Status publishFile(FileSystem& files, WriteFile& file, const Path& path, bool replace, Status done);

} // namespace shardscope::io
