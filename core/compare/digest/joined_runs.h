// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/slices/joined_slices.h"
#include "core/compare/digest/tensor_run.h"
#include "core/compare/digest/tensor_table.h"

#include <vector>

namespace shardscope {

/// Where the tensors of a joined checkpoint lie in the files of its parts, so that a scan of those files
/// digests them as wholes. Empty for other checkpoints. Immutable, thread-safe; lives no longer than both
/// arguments.
class JoinedRuns
{
public:
    JoinedRuns(const Checkpoint& checkpoint, const TensorTable& table);
    /// Adds the runs of one file, in no order.
    void addTo(std::vector<TensorRun>& out, FileId file) const;

private:
    struct Piece {
        ParamId param = kNoParam; ///< the joined one
        SlicePiece piece;
    };
    /// Of parameters that a slice stores whole, as without ZeRO.
    void addWholes(std::vector<TensorRun>& out, const FlatUnit& unit, uint32_t state, FileId file) const;
    void addShare(std::vector<TensorRun>& out, const FlatUnit& unit, uint32_t state, uint32_t rank) const;
    void addPiece(std::vector<TensorRun>& out, const Piece& of, const TensorRun& slice, uint32_t state) const;

    const TensorTable& m_table;
    const Checkpoint* m_of = nullptr;
    std::vector<std::vector<Piece>> m_pieces; ///< by parameter of the parts
};

} // namespace shardscope
