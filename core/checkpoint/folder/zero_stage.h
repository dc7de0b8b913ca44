// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_values.h"

#include <optional>

namespace shardscope {

/// The stage in `zero_stage` of an optimizer's mapping, an int or an enum. Nothing if it is absent.
std::optional<int> zeroStageOf(const PickleGraph& graph, NodeId wrapper);

} // namespace shardscope
