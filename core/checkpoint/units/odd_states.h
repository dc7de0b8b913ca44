// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Reports something that an optimizer keeps and this program does not understand: scales of quantised
/// states, factors, tensors of classes of their own, values that differ between ranks. `facts`: owner and
/// sizes as text
/// ("of group 0 has 3 elements on a rank whose partition has 600"). `why`: empty for what is known of the
/// name.
///
/// The finding (not-supported) names the state, once. requireAllStates() refuses for it to rewrite, to
/// compare and to digest. Without ZeRO nothing is partitioned: the state stays in the file as it is.
void setStateAside(
    const Reading& reading, std::string_view state, const std::string& facts, std::string_view why = {});

/// The shape of a parameter with a factored state, from its sums over rows and columns. Nothing for other
/// entries.
std::optional<Shape> factoredShape(const PickleGraph& graph, NodeId entry);

} // namespace shardscope
