// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Adds a finding if `other`, from a further root, differs from `file` in sizes or checksums.
void checkCopy(const Reading& reading, const CheckpointFile& file, const io::Path& other);

} // namespace shardscope
