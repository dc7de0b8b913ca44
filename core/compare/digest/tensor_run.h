// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/transposed_order.h"

#include <cstdint>
#include <optional>

namespace shardscope {

/// A run of elements of one tensor in a file. Bytes count from the start of the file.
struct TensorRun {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint32_t tensor = 0;
    uint32_t itemBytes = 4;
    uint64_t firstElement = 0;
    std::optional<TransposedOrder> order{}; ///< set: stored so; firstElement is a storage index
};

} // namespace shardscope
