// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// In fp32 without ZeRO the weights in a layer file are the masters, and pipeline stages that share a module
/// share its file. Whether another stage than the parameter's own keeps the file: there the values stand for
/// those of both.
bool isMasterOfOtherStage(const Checkpoint& checkpoint, ParamId param);

} // namespace shardscope
