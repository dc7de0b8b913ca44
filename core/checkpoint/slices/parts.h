// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Fills what the whole checkpoint says from its parts, and compares them.
void mergeParts(Reading& reading);

} // namespace shardscope
