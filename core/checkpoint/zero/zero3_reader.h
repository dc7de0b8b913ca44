// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Fills params, units and groups. A problem becomes a finding, refuse() or noModel().
Status readZero3(Reading& reading);

} // namespace shardscope
