// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/partition/flat_partition.h"
#include "core/tensor/shape.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::bench {

/// What to write; the command line's options.
struct GenerateOptions {
    int stage = 3; ///< 1, 2 or 3
    uint32_t world = 2;
    uint64_t bytes = 0; ///< of the checkpoint, about
    uint32_t params = 323; ///< an embedding, layers of ten, a norm
    uint64_t subGroupSize = 0; ///< ZeRO-3; 0: DeepSpeed's default, 1e9, and absent from ds_config
    uint32_t seed = 1;
    bool sparse = false; ///< payloads are holes (zeros) with right CRCs
    bool linkModelFiles = false; ///< ZeRO-3: hard links to rank 0's model file for the other ranks
};

struct GeneratedParam {
    std::string name;
    Shape shape;
    uint64_t elements = 0;
};

/// A flat unit of the optimizer: a param group (ZeRO-1/2) or one of its sub-groups (ZeRO-3).
struct GeneratedUnit {
    uint32_t group = 0;
    std::vector<uint32_t> params; ///< indices into GeneratedModel::params
    FlatPartition partition;
};

/// A plain decoder-only transformer in bf16, with AdamW in two param groups: matrices, then vectors.
struct GeneratedModel {
    std::vector<GeneratedParam> params; ///< in the order of the module's state_dict
    std::vector<GeneratedUnit> units; ///< in the optimizer's order
    uint32_t groups = 0;
};

/// The model whose checkpoint has about options.bytes: the embedding takes what the layers leave.
Result<GeneratedModel> makeGeneratedModel(const GenerateOptions& options);

} // namespace shardscope::bench
