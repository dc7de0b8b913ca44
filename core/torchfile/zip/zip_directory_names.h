// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/zip_directory_entry.h"

namespace shardscope::zip {

/// Hostile when a name could escape a folder or cheat a reader: empty or dot parts, absolute, backslashes,
/// control characters, not UTF-8.
Status checkName(std::string_view name);
Status checkNames(const std::vector<Entry>& entries);

/// Removes the common prefix from all names and returns it. Hostile: no prefix, two prefixes, two records of
/// one name (also when they differ only in case, since torch looks names up without regard to it).
Result<std::string> stripPrefix(std::vector<Entry>& entries);

} // namespace shardscope::zip
