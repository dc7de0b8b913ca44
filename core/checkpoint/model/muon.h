// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

/// DeepSpeed's Muon (runtime/zero/muon/muon_optimizer.py, MuonWithAuxAdam) has groups of matrices with a
/// momentum, and groups with the two moments of Adam. An option distinguishes them. ZeRO-3, BF16_Optimizer,
/// and ZeRO-1/2 with CPU offload store the momentum like any other state. ZeRO-1/2 without offload store it
/// as described at heldWholeOn() (core/partition/held_whole.h).
inline constexpr std::string_view kMuonMomentum = "momentum_buffer";

/// Whether a param group has matrices under Muon.
inline bool isMuonGroup(const Checkpoint& checkpoint, const ParamGroup& group)
{
    const bool isKnown = group.options != kNoNode && checkpoint.templateOptim != kNoFile;
    const TorchFile* file = isKnown ? checkpoint.file(checkpoint.templateOptim).content.get() : nullptr;
    const NodeId option = file == nullptr ? kNoNode : lookup(file->pickle(), group.options, "use_muon");
    return option != kNoNode && asBool(file->pickle(), option).value_or(false);
}

/// The momentum of a unit of matrices under Muon. Null for other units, and before the first step.
inline const UnitState* muonMomentumOf(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    const auto group = std::ranges::find(
        checkpoint.groups, unit.group, [](const ParamGroup& one) { return static_cast<int32_t>(one.index); });
    if (group == checkpoint.groups.end() || !isMuonGroup(checkpoint, *group))
        return nullptr;
    const auto found = std::ranges::find(unit.states, kMuonMomentum, &UnitState::name);
    return found == unit.states.end() ? nullptr : &*found;
}

/// The first one in a checkpoint, or null.
inline const UnitState* muonMomentumOf(const Checkpoint& checkpoint)
{
    for (const FlatUnit& unit : checkpoint.units) {
        if (const UnitState* momentum = muonMomentumOf(checkpoint, unit))
            return momentum;
    }
    return nullptr;
}

/// Whether `offload_optimizer.device` of a ds_config names a device.
inline bool saysOffload(const PickleGraph& graph, NodeId device)
{
    const auto text = asString(graph, device);
    return !text || *text != "none"; // an enum also names a device
}

} // namespace shardscope
