// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

/// Whether a param group's options are those of FusedAdam (deepspeed/ops/adam/fused_adam.py, and Apex's). At
/// stage 0 it gets another wrapper than all other optimizers. Only the entry of a group's last parameter then
/// has the step.
inline bool isFusedAdam(const PickleGraph& graph, NodeId options)
{
    const auto has = [&](std::string_view key) { return lookup(graph, options, key) != kNoNode; };
    constexpr std::array kKeys{"lr", "bias_correction", "betas", "eps", "weight_decay"};
    constexpr std::array kOfOthers{"amsgrad", "max_coeff", "max_grad_norm"}; // DeepSpeedCPUAdam, FusedLamb
    return std::all_of(kKeys.begin(), kKeys.end(), has)
        && std::none_of(kOfOthers.begin(), kOfOthers.end(), has);
}

} // namespace shardscope
