// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/checkpoint/universal: the reader of folders that ds_to_universal.py wrote. Start with
// readUniversal(), then its parts in universal.h.

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Reads a folder that ds_to_universal.py wrote. Also finds its files.
Status readUniversal(Reading& reading);

} // namespace shardscope
