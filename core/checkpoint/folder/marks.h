// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// A finding for each mark that `shardscope.json` in the tag folder holds; nothing where that is not ours,
/// which verify tells.
void readMarks(const Reading& reading);

} // namespace shardscope
