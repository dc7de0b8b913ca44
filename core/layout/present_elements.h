// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/fragments.h"

#include <utility>
#include <vector>

namespace shardscope {

/// Elements [begin, end) of a damaged checkpoint: as readElements(), but what a missing or unreadable shard
/// holds stays as it is in `out` and is told, as element ranges in order. The error of the first such range
/// when nothing can be read, and Cancelled.
Result<std::vector<std::pair<uint64_t, uint64_t>>> readPresentElements(io::FileSystem& files,
    const Checkpoint& checkpoint, ParamId param, std::string_view state, uint64_t begin, uint64_t end,
    std::span<uint8_t> out);

} // namespace shardscope
