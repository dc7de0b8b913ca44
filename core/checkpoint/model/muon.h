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

/// Whether a param group's options are those of matrices under Muon.
inline bool isMuonGroup(const PickleGraph& graph, NodeId options)
{
    const NodeId option = options == kNoNode ? kNoNode : lookup(graph, options, "use_muon");
    return option != kNoNode && asBool(graph, option).value_or(false);
}

/// Whether the optimizer state has a momentum of Muon.
inline bool holdsMuon(const Checkpoint& checkpoint)
{
    return std::ranges::any_of(checkpoint.units, [](const FlatUnit& unit) {
        return std::ranges::find(unit.states, kMuonMomentum, &UnitState::name) != unit.states.end();
    });
}

/// Whether `offload_optimizer.device` of a ds_config names a device.
inline bool saysOffload(const PickleGraph& graph, NodeId device)
{
    const auto text = asString(graph, device);
    return !text || *text != "none"; // an enum also names a device
}

} // namespace shardscope
