// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

namespace shardscope::io {

/// Folder `shardscope` of the user's cache (XDG_CACHE_HOME, else ~/.cache); empty where the user has none.
Path userCache();

/// Writes a file that can be computed again. What fails is ignored. Of the files in its folder with the same
/// extension, at most `maxFiles` stay; the oldest are removed.
void keepInUserCache(FileSystem& files, const Path& path, std::string_view bytes, size_t maxFiles);

} // namespace shardscope::io
