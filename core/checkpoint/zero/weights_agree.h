// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// ZeRO-1/2: a few masters of every rank against the model file's copies of them, which a rank or a model
/// file of another run or step does not match even where all its counters do.
void checkWeightsAgree(const Reading& reading);

} // namespace shardscope
