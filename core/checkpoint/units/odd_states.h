// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// A state of the optimizer that has no element for each element of its parameters: scales of quantised
/// states, factors, buffers that are cut for the ranks of the run. `facts`: whose it is and its sizes, in
/// words ("of group 0 has 3 elements on a rank whose partition has 600").
///
/// With ZeRO such a state cannot be moved to other ranks, and the checkpoint is beyond this build, by name.
/// Without ZeRO nothing is partitioned: it stays in the file as it is, and a finding (not-supported) tells
/// planners of other forms.
void setStateAside(const Reading& reading, std::string_view state, const std::string& facts);

/// The shape of the parameter whose state is factored, from its sums over rows and columns; nothing for other
/// entries.
std::optional<Shape> factoredShape(const PickleGraph& graph, NodeId entry);

} // namespace shardscope
