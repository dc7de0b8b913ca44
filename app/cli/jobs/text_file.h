// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/session.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

/// The file name that means standard output.
inline constexpr std::string_view kStandardOutput = "-";

/// Writes a small file that the user named, in addition to the answer. It appears complete or not at all. It
/// replaces an existing file only with `replace`; else TargetExists. `-` writes to standard output, and then
/// the text answer goes to standard error.
Status writeTextFile(const Session& session, const std::string& path, const std::string& text, bool replace);
/// Usage when standard output would get more than one thing: two of these files, or one and --json.
Status checkStandardOutput(const Session& session, const std::vector<std::string>& fileOptions);
/// Usage if a file that this call would write (NewFile) is inside what it reads.
Status checkWrittenFiles(const Parsed& parsed, io::FileSystem& files);
/// Usage when `path` is `-`, for files that cannot be written to standard output.
Status requireFile(const std::string& path, const std::string& name, const Hint& hint);

} // namespace shardscope::cli
