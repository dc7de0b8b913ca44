// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Over how many data-parallel ranks a native checkpoint is cut: as its model file says, else the optimizer
/// file `guide`, else as many as there are optimizer files.
uint32_t findWorldSize(Reading& reading, FileId guide, size_t optimFiles);

} // namespace shardscope
