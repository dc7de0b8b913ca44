// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/diff_causes.h"

namespace shardscope {

class SliceRules;

/// Two checkpoints held against each other, and what that means: the whole answer of `diff`.
struct JudgedDiff {
    /// As they were compared, left first: joined where they differ in slices or stages. Ids of the
    /// difference are theirs.
    CheckpointPtr left;
    CheckpointPtr right;
    StateDiff diff;
    bool paddingDiffers = false; ///< told only where all else is equal
    DiffVerdict verdict = DiffVerdict::Same;
    std::vector<DiffCause> causes;
};

/// Compares any two checkpoints with a logical model, explains what differs and gives the verdict. Slices
/// join by `rules`, else as inSameDegrees() has it. Unsupported as there; Unreadable, Cancelled.
Result<JudgedDiff> judgeDiff(io::FileSystem& files, const CheckpointPtr& left, const CheckpointPtr& right,
    const SliceRules* rules, const DiffOptions& options, const ComputeBackend& backend, JobContext& job);

} // namespace shardscope
