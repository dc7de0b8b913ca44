// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <utility>
#include <vector>

namespace shardscope::test {

/// A checkpoint in memory without files: what the reader would return, with byte offsets. `content` is
/// null everywhere.
struct SyntheticOptions {
    int stage = 3; ///< 1, 2 or 3
    uint32_t ranks = 4;
    uint32_t params = 100; ///< trainable, with a transformer's names; ignored when `shapes` is not empty
    uint64_t hidden = 64; ///< width of those
    uint32_t experts = 0; ///< per layer, in addition to its MLP
    std::vector<std::pair<std::string, Shape>>
        shapes; ///< trainable parameters, in place of the transformer's
    uint32_t groups = 1; ///< parameter i goes to group i mod groups
    uint32_t frozen = 0; ///< "frozen.I.weight"
    uint32_t buffers = 0; ///< "buffer.I"
    uint32_t aliases = 0; ///< "alias.I.weight", sharing trainable parameter I
    uint64_t subGroupSize = 1'000'000'000;
    std::vector<std::string> optimizerStates{"exp_avg", "exp_avg_sq"};
    std::vector<uint32_t> missingRanks; ///< their optimizer files are missing
    std::vector<uint32_t> notYetReadRanks;
};

/// To be changed further before it is shared. 4,096 ranks × 300,000 parameters: well under a second, about
/// 100 MiB.
Checkpoint buildSyntheticCheckpoint(const SyntheticOptions& options);
CheckpointPtr makeSyntheticCheckpoint(const SyntheticOptions& options);

} // namespace shardscope::test
