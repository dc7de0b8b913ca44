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
    uint64_t count = 0; ///< trainable + frozen + unrecorded
    uint64_t elements = 0; ///< of these
    uint64_t trainable = 0;
    uint64_t frozen = 0;
    uint64_t frozenElements = 0;
    uint64_t unrecorded = 0; ///< not trained by a saved optimizer, and nothing records that they are frozen
    uint64_t shared = 0; ///< aliases of tied parameters
    uint64_t buffers = 0;

    void add(const Checkpoint& checkpoint, const Parameter& parameter);
};
/// Whether nothing says if the parameter was trained. DeepSpeed records which parameters are frozen. Files of
/// other tools have weights; only those with optimizer states are known to be trained.
bool isRoleUnrecorded(const Checkpoint& checkpoint, const Parameter& parameter);
/// Whether a file records that it is not trained.
bool isFrozen(const Checkpoint& checkpoint, const Parameter& parameter);
ParameterCounts countParameters(const Checkpoint& checkpoint);

struct FileCounts {
    uint64_t count = 0; ///< existing files that belong to the checkpoint
    uint64_t bytes = 0;

    void add(const CheckpointFile& file);
};
FileCounts countFiles(const Checkpoint& checkpoint);
/// Of its files, also of those that are missing.
std::vector<io::Path> pathsOf(const Checkpoint& checkpoint);

/// Padding elements of a unit on all ranks together, and on one. Tensors that are stored whole, or split
/// without flat buffers, have none: the last ranks of these hold less.
uint64_t paddingElements(const FlatUnit& unit);
uint64_t paddingElements(const FlatUnit& unit, uint32_t share);

/// The optimizer's own step of each param group, which is that of its first unit with one.
std::vector<std::optional<double>> optimizerSteps(const Checkpoint& checkpoint);

} // namespace shardscope
