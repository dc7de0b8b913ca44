// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/pickle/pickle_graph.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

/// Attributes of a loss scaler and their values in the format of scalarText(); empty if losses are not
/// scaled, or by a constant 1, which only some wrappers store.
using ScalerTexts = std::vector<std::pair<std::string, std::string>>;

/// The scaler of a checkpoint: ZeRO's `loss_scaler` object (runtime/fp16/loss_scaler.py), or the keys
/// of the wrappers without ZeRO (runtime/fp16/fused_optimizer.py, state_dict) under that object's names.
ScalerTexts scalerTexts(const Checkpoint& checkpoint);
/// Whether it is stored in those keys: without ZeRO, and in a distributed checkpoint converted from such.
bool keepsScalerKeys(const Checkpoint& checkpoint);
/// An attribute that objects of older releases do not have, and its value in the current class.
struct ScalerAttribute {
    std::string_view name;
    NodeId (*make)(PickleBuilder&) = nullptr;
};
/// Those of `className` (`raise_error_at_min_scale` since 0.6.5, `dynamic` since 0.8.2, `dtype` since 0.8.3)
/// that are not in `attributes`. scalerTexts() includes them, so that old and rewritten objects are equal.
std::vector<ScalerAttribute> lackingScalerAttributes(
    const PickleGraph& graph, std::string_view className, NodeId attributes);
/// Attributes that are also stored without ZeRO: there is no hysteresis, and the minimum scale is not saved.
ScalerTexts scalerTextsWithoutZero(ScalerTexts texts);

} // namespace shardscope
