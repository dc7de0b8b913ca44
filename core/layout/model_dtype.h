// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// The dtype of a parameter in the model, which its masters need not have; else that of its first state;
/// "unknown" if it has no state.
DType modelDtype(const Checkpoint& checkpoint, ParamId param);

} // namespace shardscope
