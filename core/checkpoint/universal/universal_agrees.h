// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// A universal folder that holds copies of weights: compares some masters of every group with them.
/// What DeepSpeed's converter makes of a round-robin source shows here, and nowhere else.
void checkUniversalAgrees(const Reading& reading);

} // namespace shardscope
