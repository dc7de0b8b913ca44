// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/diff_causes.h"

#include <string>
#include <string_view>

namespace shardscope {

class SliceRules;

/// The comparison of two checkpoints with causes and verdict: the result of `diff`.
struct JudgedDiff {
    /// As compared, left first: merged if they differ in slices or stages. The ids of the difference refer to
    /// these.
    CheckpointPtr left;
    CheckpointPtr right;
    StateDiff diff;
    bool paddingDiffers = false; ///< only set if all else is equal
    DiffVerdict verdict = DiffVerdict::Same;
    std::vector<DiffCause> causes;
};

struct DiffPair {
    CheckpointPtr left;
    CheckpointPtr right;
    const SliceRules* rules = nullptr; ///< for merging slices
};

/// Compares any two checkpoints with a logical model, explains the differences and gives the verdict. Slices
/// are merged by the rules, else as in inSameDegrees(). Unsupported as there; Unreadable, Cancelled.
Result<JudgedDiff> judgeDiff(
    io::FileSystem& files, const DiffPair& pair, const DiffOptions& options, JobContext& job);

/// The comparison without its checkpoints, for another process of this version that has opened the same two.
std::string wireText(const JudgedDiff& judged);
/// Reads it again; it can be anybody's text. Hostile if it is no comparison of this pair; errors of
/// inSameDegrees().
Result<JudgedDiff> judgedFromWire(const DiffPair& pair, std::string_view text);

} // namespace shardscope
