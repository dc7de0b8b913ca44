// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Reports an optimizer state that does not have one element per parameter element: scales of quantised
/// states, factors, buffers sized for the run's number of ranks. `facts`: owner and sizes as text ("of group
/// 0 has 3 elements on a rank whose partition has 600").
///
/// With ZeRO such a state cannot be moved to other ranks. The checkpoint is then refused, naming the state.
/// Without ZeRO nothing is partitioned: the state stays in the file as it is, and a finding (not-supported)
/// informs planners of other forms.
void setStateAside(const Reading& reading, std::string_view state, const std::string& facts);

/// The shape of a parameter with a factored state, from its sums over rows and columns. Nothing for other
/// entries.
std::optional<Shape> factoredShape(const PickleGraph& graph, NodeId entry);

} // namespace shardscope
