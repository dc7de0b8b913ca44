// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <initializer_list>
#include <optional>
#include <string_view>

namespace shardscope {

/// Reads facts of the model-states file: steps, versions, client state, precision, wrapper. Needs modelRoot.
void readModelHeader(Reading& reading);
/// A value of ds_config by path ("zero_optimization", "sub_group_size"). kNoNode if it is absent or ds_config
/// is not a mapping.
NodeId configValue(const Reading& reading, std::initializer_list<std::string_view> path);

/// The stage in `zero_stage` of an optimizer's mapping, an int or an enum. Nothing if it is absent.
std::optional<int> zeroStageOf(const PickleGraph& graph, NodeId wrapper);

} // namespace shardscope
