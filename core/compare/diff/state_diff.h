// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/compare/diff: compares two training states value by value, and explains the differences. Start
// with StateDiff; judgeDiff() adds causes and the verdict of the verb `diff`.

#include "core/base/job_context.h"
#include "core/base/place.h"
#include "core/compare/diff/diff_regions.h"
#include "core/compare/diff/paired_states.h"
#include "core/compare/diff/state_scalars.h"
#include "core/compute/workers.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

struct DiffOptions {
    Tolerance tolerance;
    std::vector<std::string> states; ///< only these; empty: all of the training state
    std::vector<ParamId> params; ///< only these of the left side, in ascending order; empty: all
    Workers workers;
    uint64_t pieceElements = kPieceElements; ///< the result is the same for any number
};

/// How one state of one parameter differs.
struct StateDifference {
    PairedState state;
    Comparison values;
};

/// The next step of both sides with the same gradient. A relative difference is ‖left − right‖ over the
/// larger of the two norms, all of the whole parameter.
struct UpdateDifference {
    double withoutGradient = 0; ///< gradient 0 everywhere
    double withUnitGradient = 0; ///< gradient 1 everywhere
    /// ‖difference of weights‖ in norms of one step: the minimum number of steps between the two.
    double weightsApart = 0;
};

enum class DiffSide { Both, Left, Right };

/// A state that lacks elements on one side, for example those of a missing rank. `states` of the parameter
/// says how the others differ.
struct PartialState {
    PairedState state;
    DiffSide side = DiffSide::Right; ///< the side that lacks them
    uint64_t notCompared = 0; ///< elements
};

/// The differences of one parameter.
struct ParamDifference {
    PairedParam param;
    std::vector<StateDifference> states; ///< those that differ
    std::vector<PartialState> partial;
    std::optional<UpdateDifference> update; ///< if the optimizer's rule is known on both sides
    /// On a side with masters and 16-bit copies: masters that differ, after rounding, from the copy by more
    /// than the last bit.
    uint64_t staleLeft = 0;
    uint64_t staleRight = 0;
    bool roundedLeft = false; ///< this side's masters that differ have values of 16 bits
    bool roundedRight = false;
};

/// The side whose different elements are NaN or infinite, if any are.
[[nodiscard]] inline DiffSide notFiniteSide(const Comparison& values)
{
    return values.notFiniteRight == 0 ? DiffSide::Left
        : values.notFiniteLeft == 0   ? DiffSide::Right
                                      : DiffSide::Both;
}

struct ScalarDifference {
    StateScalar left; ///< empty value: missing
    StateScalar right;
};

/// A reason why something was not compared.
struct NotComparedWhy {
    std::string code; ///< of a finding: `--allow` accepts it
    DiffSide side = DiffSide::Both; ///< the side that has the finding
    std::string message;
    Place where; ///< of the finding
};

/// What was asked for and not compared: a side lacks elements of it, or has it in a form that is not
/// understood. What only one side lacks is a difference, and needs no reason in `why`.
struct NotCompared {
    uint64_t parameters = 0; ///< that have such tensors
    uint64_t ofOneSide = 0; ///< of `parameters`: only one side lacks elements
    uint64_t tensors
        = 0; ///< a state of a parameter counts as one, and so does a state that is not understood
    uint64_t elements = 0; ///< as far as they are known
    std::vector<NotComparedWhy> why; ///< each code and message once

    /// Whether there is no reason besides what only one side lacks.
    [[nodiscard]] bool isEmpty() const { return why.empty(); }
    /// The codes in `why`, in ascending order, each once.
    [[nodiscard]] std::vector<std::string> codes() const;
};

/// The comparison of two training states.
struct StateDiff {
    uint64_t parameters = 0; ///< compared: on both sides, with the same shape
    uint64_t buffers = 0; ///< of them; elsewhere they are not counted as parameters
    uint64_t tensors = 0;
    uint64_t elements = 0;
    uint64_t scalars = 0;
    NotCompared notCompared;
    std::vector<ParamDifference> params; ///< with differences, most important first
    /// Where the states of `params` differ, and where what both sides list was not compared, copies of
    /// masters included. Not within a tolerance: which bits differ.
    DiffRegions regions;
    std::vector<ScalarDifference> scalarDifferences;
    /// Parameters with rounded masters that are not their 16-bit copies, equal on both sides or not.
    std::vector<std::string> staleCopiesLeft;
    std::vector<std::string> staleCopiesRight;

    /// Whether tensors were compared, and those and all scalars are equal or within the tolerance. Copies of
    /// masters are ignored.
    [[nodiscard]] bool matches() const;
    /// The same, and everything was compared.
    [[nodiscard]] bool areEqual() const { return matches() && notCompared.isEmpty(); }
};

/// Reads both checkpoints once, piece by piece. Both have the same parallel degrees (inSameDegrees()) and a
/// logical model. A state with a missing part on one side, for example of a missing rank, is a difference;
/// the missing elements are in `notCompared`. Memory: 2 MiB per state and job, and the differences;
/// `regions` has at most 24 MiB, or two runs per state.
/// Unreadable, Cancelled.
Result<StateDiff> diffStates(io::FileSystem& files, const Checkpoint& left, const Checkpoint& right,
    const DiffOptions& options, JobContext& job);

} // namespace shardscope
