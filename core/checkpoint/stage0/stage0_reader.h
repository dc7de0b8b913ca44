// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Reads a checkpoint without ZeRO: one model file. Infers the names of the optimizer's parameters, or
/// refuses.
Status readStage0(Reading& reading);

} // namespace shardscope
