// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/state_diff.h"

#include <string>
#include <vector>

namespace shardscope {

/// Why two training states differ, with evidence.
struct DiffCause {
    std::string code; ///< "moments-zeroed", "ranks-swapped", …
    DiffSide side = DiffSide::Both; ///< which of the two has the cause, if it can be determined
    std::string message; ///< one sentence
    std::vector<std::string> evidence;
};

/// The effect of all differences on further training.
enum class DiffVerdict {
    Same, ///< the same training state
    SameInPart, ///< no difference, but not everything was compared
    Padding, ///< the same; only unused padding bytes differ
    Bookkeeping, ///< only counters or client state
    LastBit, ///< values differ by no more than their last bit
    Alike, ///< the next steps and the weights are nearly the same
    Different, ///< will train differently
    NotComparable, ///< other parameters or shapes
};
/// "same-training-state", "different-in-padding", …
std::string_view verdictName(DiffVerdict verdict);
/// The sentence for users.
std::string verdictText(DiffVerdict verdict, const StateDiff& diff);

/// The maximum distance of next steps and weights to be Alike: a thousandth of a step.
constexpr double kAlikeStep = 1e-3;

DiffVerdict verdictOf(const StateDiff& diff, bool paddingDiffers);

/// Explains a difference. If values differ, reads more to find the ranks with differences, and exchanged
/// tensors or ranks. Data that cannot be read is ignored. The only error is Cancelled.
Result<std::vector<DiffCause>> explainDiff(io::FileSystem& files, const Checkpoint& left,
    const Checkpoint& right, const StateDiff& diff, JobContext& job);

} // namespace shardscope
