// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_values.h"

#include <optional>

namespace shardscope {

/// The number behind `zero_stage` of an optimizer's mapping, which is an int or an enum; nothing when absent.
std::optional<int> zeroStageOf(const PickleGraph& graph, NodeId wrapper);

} // namespace shardscope
