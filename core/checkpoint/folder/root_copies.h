// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// A finding where `other`, of a further root, is not the same file as `file`, by sizes and checksums.
void checkCopy(const Reading& reading, const CheckpointFile& file, const io::Path& other);

} // namespace shardscope
