// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Unsupported for reasons that apply to any kind: parallelism, experts, offload folders, legacy releases.
/// Damaged where AutoEP's record of experts is.
Status refuseUnsupported(const Reading& reading);

} // namespace shardscope
