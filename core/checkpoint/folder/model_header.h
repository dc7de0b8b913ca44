// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/model_states.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <optional>

namespace shardscope {

/// Reads facts of the model-states file: steps, versions, client state, precision, wrapper. Needs modelRoot.
void readModelHeader(Reading& reading);
/// What the template model file holds. Empty if that file was not read.
ModelStates modelStates(const Reading& reading);

/// The stage in `zero_stage` of an optimizer's mapping, an int or an enum. Nothing if it is absent.
std::optional<int> zeroStageOf(const PickleGraph& graph, NodeId wrapper);

} // namespace shardscope
