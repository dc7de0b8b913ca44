// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/state_diff.h"

#include <string>
#include <vector>

namespace shardscope {

/// Which of two checkpoints a cause lies in, as far as that can be told.
enum class DiffSide { Both, Left, Right };

/// Why two training states differ, in words, with what shows it.
struct DiffCause {
    std::string code; ///< "moments-zeroed", "rank-swapped", …
    DiffSide side = DiffSide::Both;
    std::string message; ///< one sentence
    std::vector<std::string> evidence;
};

/// What all that differs means for training on.
enum class DiffVerdict {
    Same, ///< the same training state
    Padding, ///< the same; bytes that pad buffers differ, which nothing reads
    Bookkeeping, ///< only counters or client state
    LastBit, ///< values differ by no more than their last bit
    Alike, ///< the next steps and the weights are nearly the same
    Different, ///< will train differently
    NotComparable, ///< other parameters or shapes
};
/// "same-training-state", "different-in-padding", …
std::string_view verdictName(DiffVerdict verdict);
/// The sentence for people.
std::string verdictText(DiffVerdict verdict, const StateDiff& diff);

/// How far apart next steps and weights may be to count as alike: a thousandth of a step.
constexpr double kAlikeStep = 1e-3;

DiffVerdict verdictOf(const StateDiff& diff, bool paddingDiffers);

/// Explains a difference. Reads further where values differ: which ranks hold what differs, and whether
/// tensors or ranks changed places. Cancelled; what cannot be read explains nothing.
Result<std::vector<DiffCause>> explainDiff(io::FileSystem& files, const Checkpoint& left,
    const Checkpoint& right, const StateDiff& diff, JobContext& job);

} // namespace shardscope
