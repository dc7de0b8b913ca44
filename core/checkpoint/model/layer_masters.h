// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// In fp32 without ZeRO the weights in a layer file are the masters. Pipeline stages that share a module
/// share its file. Returns whether the file was kept by another stage than the parameter's own. Its values
/// then serve both stages.
bool isMasterOfOtherStage(const Checkpoint& checkpoint, ParamId param);

} // namespace shardscope
