// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/checkpoint/zero: the readers of ZeRO-1, 2 and 3, and the checks that files of ranks belong
// together. It uses core/checkpoint/{swap,naming,experts,units,folder,model} and lower rooms. Start with
// readZero12() or readZero3(); only zenflow.h is for rooms after core/checkpoint/open.

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Fills params, units and groups. Problems are recorded as findings, or are returned for Reading::stop().
Status readZero12(Reading& reading);

} // namespace shardscope
