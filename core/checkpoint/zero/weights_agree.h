// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// ZeRO-1/2: compares a few masters of every rank with the model file's copies of them. Detects a rank or a
/// model file of another run or step, even if all its counters match.
void checkWeightsAgree(const Reading& reading);

} // namespace shardscope
