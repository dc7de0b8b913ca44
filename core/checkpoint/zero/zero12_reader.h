// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/checkpoint/zero: the readers of ZeRO-1, 2 and 3, and the checks that files of ranks belong
// together. Start with readZero12() or readZero3().

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Fills params, units and groups. Problems are recorded as findings, or are returned for Reading::stop().
Status readZero12(Reading& reading);

} // namespace shardscope
