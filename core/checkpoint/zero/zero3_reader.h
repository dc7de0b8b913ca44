// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Fills params, units and groups. Problems are recorded as findings, or are returned for Reading::stop().
Status readZero3(Reading& reading);

} // namespace shardscope
