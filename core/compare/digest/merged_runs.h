// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/tensor_table.h"
#include "core/layout/slices/merged_slices.h"
#include "core/tensor/transposed_order.h"

#include <cstdint>
#include <optional>
#include <vector>

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

/// The places of a merged checkpoint's tensors in the files of its parts, so that a scan of those files
/// computes digests of merged tensors. Empty for other checkpoints. Immutable, thread-safe; both arguments
/// must outlive it.
class MergedRuns
{
public:
    MergedRuns(const Checkpoint& checkpoint, const TensorTable& table);
    /// Adds the runs of one file, unordered.
    void addTo(std::vector<TensorRun>& out, FileId file) const;

private:
    struct Piece {
        ParamId param = kNoParam; ///< of the merged checkpoint
        SlicePiece piece;
    };
    void addPiece(std::vector<TensorRun>& out, const Piece& of, const TensorRun& slice, uint32_t state) const;

    const TensorTable& m_table;
    const Checkpoint* m_of = nullptr;
    std::vector<std::vector<Piece>> m_pieces; ///< by parameter of the parts
};

} // namespace shardscope
