// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/fragments.h"

#include <utility>
#include <vector>

namespace shardscope {

/// A range of a damaged checkpoint: as readElements(), but elements of missing or unreadable
/// shards stay unchanged in `out` and are returned as ranges in order. If nothing can be read, the error of
/// the first range; also Cancelled.
Result<std::vector<std::pair<uint64_t, uint64_t>>> readPresentElements(
    io::FileSystem& files, const Checkpoint& checkpoint, const StateRange& range, std::span<uint8_t> out);

/// Runs [begin, end) of one state's elements.
struct StateRuns {
    ParamId param = kNoParam;
    std::string_view state;
    std::vector<std::pair<uint64_t, uint64_t>> runs;
};

/// The same for many runs, for samples: opens each file once, and reads all runs in few calls of the file
/// system. `out` has their elements, one run after the other. Missing ranges are in the order of elements.
Result<std::vector<std::pair<uint64_t, uint64_t>>> readPresentRuns(
    io::FileSystem& files, const Checkpoint& checkpoint, const StateRuns& wanted, std::span<uint8_t> out);

} // namespace shardscope
