// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string_view>
#include <vector>

namespace shardscope {

/// What an optimizer needs in its param groups, inferred from the states that it keeps. For checkpoints that
/// hold states without options.
struct OptimizerNeeds {
    std::string_view optimizer; ///< in words; empty where the states are those of no optimizer known here
    std::vector<std::string_view> keys; ///< must be there
    /// Options that follow from the states, all of them switches.
    std::vector<std::pair<std::string_view, bool>> implied;
};

/// Of the optimizer of one unit. `stepInGroup`: the file keeps the first group's `step`, as FusedAdam and
/// FusedLion have one. The keys are those of torch 2.15 and DeepSpeed 0.19 that their loaders do not fill in
/// by themselves.
OptimizerNeeds optimizerNeeds(const FlatUnit& unit, bool stepInGroup);

} // namespace shardscope
