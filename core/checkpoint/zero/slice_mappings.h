// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// ZeRO-1/2: where the optimizer files record that parameters lie, against where the units say. Foreign for a
/// file of another rank, noModel() when no order explains them. Whether they show round_robin_gradients:
/// stock DeepSpeed records the places as if the order before it stood on disk.
bool checkSliceMappings(Reading& reading);

} // namespace shardscope
