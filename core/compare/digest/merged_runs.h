// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/slices/merged_slices.h"
#include "core/compare/digest/tensor_run.h"
#include "core/compare/digest/tensor_table.h"

#include <vector>

namespace shardscope {

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
