// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

/// Whether a param group's options are those of FusedAdam (deepspeed/ops/adam/fused_adam.py, and Apex's),
/// which gets another wrapper at stage 0 than all others, and there keeps the step of a group in the entry of
/// its last parameter alone.
inline bool isFusedAdam(const PickleGraph& graph, NodeId options)
{
    const auto has = [&](std::string_view key) { return lookup(graph, options, key) != kNoNode; };
    constexpr std::array kKeys{"lr", "bias_correction", "betas", "eps", "weight_decay"};
    constexpr std::array kOfOthers{"amsgrad", "max_coeff", "max_grad_norm"}; // DeepSpeedCPUAdam, FusedLamb
    return std::all_of(kKeys.begin(), kKeys.end(), has)
        && std::none_of(kOfOthers.begin(), kOfOthers.end(), has);
}

} // namespace shardscope
