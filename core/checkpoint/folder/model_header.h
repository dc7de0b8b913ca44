// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <initializer_list>
#include <string_view>

namespace shardscope {

/// Facts of the model-states file: steps, versions, client state, precision, wrapper. Needs modelRoot.
void readModelHeader(Reading& reading);
/// A value of ds_config by path ("zero_optimization", "sub_group_size"); kNoNode when absent or ds_config is
/// no mapping.
NodeId configValue(const Reading& reading, std::initializer_list<std::string_view> path);

} // namespace shardscope
