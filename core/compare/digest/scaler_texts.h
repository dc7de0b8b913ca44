// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/pickle/pickle_graph.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

/// Attributes of a loss scaler and their values in scalarText()'s spelling; none where losses are not scaled,
/// or by a constant 1, which some wrappers keep and others leave out.
using ScalerTexts = std::vector<std::pair<std::string, std::string>>;

/// The scaler that a checkpoint holds: ZeRO's `loss_scaler` object (runtime/fp16/loss_scaler.py), or the keys
/// of the wrappers without ZeRO (runtime/fp16/fused_optimizer.py, state_dict) under that object's names.
ScalerTexts scalerTexts(const Checkpoint& checkpoint);
/// Whether it is kept in those keys: without ZeRO, and in a distributed checkpoint that was made from such.
bool keepsScalerKeys(const Checkpoint& checkpoint);
/// An attribute that an object of an older release does not have, and the value that today's class gives it.
struct ScalerAttribute {
    std::string_view name;
    NodeId (*make)(PickleBuilder&) = nullptr;
};
/// Those of `className` (`raise_error_at_min_scale` since 0.6.5, `dynamic` since 0.8.2, `dtype` since 0.8.3)
/// that are not in `attributes`. scalerTexts() counts them in, so that old and renewed objects are the same.
std::vector<ScalerAttribute> lackingScalerAttributes(
    const PickleGraph& graph, std::string_view className, NodeId attributes);
/// Those that are kept without ZeRO too: there is no hysteresis, and the least scale is not saved.
ScalerTexts scalerTextsWithoutZero(ScalerTexts texts);

} // namespace shardscope
