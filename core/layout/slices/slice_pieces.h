// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/slices/merged_slices.h"
#include "core/layout/slices/slice_rules.h"

namespace shardscope {

/// The slices of one parameter, in the order of their tensor-parallel ranks.
struct ParamSlices {
    std::vector<ParamId> ids; ///< of MergedSlices::of
    std::vector<Shape> shapes;
};

/// The result of applying a rule to slices.
struct RuledPieces {
    Shape shape; ///< of the whole
    std::vector<SlicePiece> pieces;
    UniversalMarks marks;
    bool alike = false; ///< every slice equals the whole
};

/// Where the elements of every slice are in the whole (checkpoint/ds_to_universal.py, merge_tp_slices).
/// Refused if the shapes do not fit the rule. The message continues "the slices of `NAME`".
Result<RuledPieces> piecesOf(const SliceRule& rule, const ParamSlices& slices);

} // namespace shardscope
