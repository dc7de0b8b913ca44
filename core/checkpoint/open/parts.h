// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Fills the facts of the whole checkpoint from its parts, and compares the parts.
void mergeParts(Reading& reading);

} // namespace shardscope
