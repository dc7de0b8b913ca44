// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <vector>

namespace shardscope {

/// Opens one torch file; on failure its status and a finding tell why. True when it is readable.
bool loadFile(Reading& reading, FileId id);
/// Opens many at once.
Status loadFiles(Reading& reading, const std::vector<FileId>& ids);
/// Reads files of which most will be asked for, in this order, on all cores. Nothing of them shows before one
/// of the two above is called for it.
Status prefetchFiles(Reading& reading, const std::vector<FileId>& ids);

} // namespace shardscope
