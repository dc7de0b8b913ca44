// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <string>

namespace shardscope::cli {

/// Writes a small file that the user named, beside the answer. It appears complete or not at all, and takes
/// the place of another only with `replace`: else TargetExists.
Status writeTextFile(io::FileSystem& files, const io::Path& path, const std::string& text, bool replace);

} // namespace shardscope::cli
