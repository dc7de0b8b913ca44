// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// A checkpoint without ZeRO: one model file. Names of the optimizer's parameters are inferred, or it
/// refuses.
Status readStage0(Reading& reading);

} // namespace shardscope
