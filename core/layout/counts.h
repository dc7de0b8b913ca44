// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope {

// What a checkpoint has how many of, for all reports and windows.

/// Aliases of tied parameters are counted in `shared` only. A parameter that tensor parallelism splits counts
/// once for each slice, as each is stored and addressed by itself.
struct ParameterCounts {
    uint64_t count = 0; ///< trainable + frozen
    uint64_t elements = 0; ///< of these
    uint64_t trainable = 0;
    uint64_t frozen = 0;
    uint64_t frozenElements = 0;
    uint64_t shared = 0; ///< aliases of tied parameters
    uint64_t buffers = 0;

    void add(const Parameter& parameter);
};
ParameterCounts countParameters(const Checkpoint& checkpoint);

struct FileCounts {
    uint64_t count = 0; ///< existing files that belong to the checkpoint
    uint64_t bytes = 0;

    void add(const CheckpointFile& file);
};
FileCounts countFiles(const Checkpoint& checkpoint);

/// Padding elements on all ranks together.
uint64_t paddingElements(const FlatPartition& partition);

/// The optimizer's own step of each param group, which is that of its first unit with one.
std::vector<std::optional<double>> optimizerSteps(const Checkpoint& checkpoint);

} // namespace shardscope
