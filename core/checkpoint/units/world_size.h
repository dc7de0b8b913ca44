// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// The number of data-parallel ranks that a native checkpoint is partitioned over: from its model file, else
/// from the optimizer file `guide`, else the number of optimizer files.
uint32_t findWorldSize(Reading& reading, FileId guide, size_t optimFiles);

} // namespace shardscope
