// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardscope {

/// The order of a matrix that is stored column by column: what ZenFlow makes of every 2-D parameter before it
/// flattens a group (deepspeed/runtime/zenflow/zenflow_utils.py, _flatten_dense_tensors).
///
/// An element has two numbers: the logical one, row by row as everywhere else, and the stored one, by its
/// place in the flat buffer. Pure arithmetic; both numbers must be below rows × columns.
struct TransposedOrder {
    uint64_t rows = 0; ///< of the logical matrix; at least 1
    uint64_t columns = 0;

    [[nodiscard]] uint64_t storedOf(uint64_t element) const
    {
        return element % columns * rows + element / columns;
    }
    [[nodiscard]] uint64_t elementOf(uint64_t stored) const
    {
        return stored % rows * columns + stored / rows;
    }
    bool operator==(const TransposedOrder&) const = default;
};

} // namespace shardscope
