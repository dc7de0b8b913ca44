// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/torchfile/torch_file_sniff.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Opens one torch file. On failure its status and a finding record the reason. True if it is readable.
bool loadFile(Reading& reading, FileId id);
/// Opens many at once.
Status loadFiles(Reading& reading, const std::vector<FileId>& ids);
/// Reads files ahead on all cores, in this order. Useful if most of them will be needed. They become part of
/// the checkpoint when one of the two functions above is called for them.
Status prefetchFiles(Reading& reading, const std::vector<FileId>& ids);

/// The finding that a file with the name of a state file is of another format, such as a Git LFS pointer.
/// Nothing if it is torch's, damaged, or of no known format.
std::optional<Finding> foreignFileFinding(const std::string& name, const FileKind& kind);

} // namespace shardscope
