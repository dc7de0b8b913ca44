// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/checkpoint.h"

#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// Attributes of a loss scaler and their values in scalarText()'s spelling; none where losses are not scaled,
/// or by a constant 1, which some wrappers keep and others leave out.
using ScalerTexts = std::vector<std::pair<std::string, std::string>>;

/// The scaler that a checkpoint holds: ZeRO's `loss_scaler` object (runtime/fp16/loss_scaler.py), or the keys
/// of the wrappers without ZeRO (runtime/fp16/fused_optimizer.py, state_dict) under that object's names.
ScalerTexts scalerTexts(const Checkpoint& checkpoint);
/// Those that are kept without ZeRO too: there is no hysteresis, and the least scale is not saved.
ScalerTexts scalerTextsWithoutZero(ScalerTexts texts);

} // namespace shardscope
