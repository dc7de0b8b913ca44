// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Refuses for reasons that apply to any kind: parallelism, experts, offload folders, legacy releases.
void refuseUnsupported(const Reading& reading);

} // namespace shardscope
