// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/compare/diff/paired_states.h"
#include "core/compare/diff/state_scalars.h"
#include "core/tensor/compute_backend.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

struct DiffOptions {
    Tolerance tolerance;
    std::vector<std::string> states; ///< only these; empty: all of the training state
    unsigned jobs = 0; ///< as ExecuteOptions::jobs
};

/// How one state of one parameter differs.
struct StateDifference {
    PairedState state;
    Comparison values;
};

/// The next step of both sides, had both the same gradient. A relative difference is ‖left − right‖ over the
/// larger of the two norms, both of the pieces of 262,144 elements in which anything differs.
struct UpdateDifference {
    double withoutGradient = 0; ///< gradient 0 everywhere
    double withUnitGradient = 0; ///< gradient 1 everywhere
    /// ‖weights apart‖ in norms of one step: how many steps lie between the two, at least.
    double weightsApart = 0;
};

/// What was found of a parameter that differs.
struct ParamDifference {
    PairedParam param;
    std::vector<StateDifference> states; ///< those that differ
    std::optional<UpdateDifference> update; ///< where the optimizer's rule is known on both sides
    /// Of a side with masters and 16-bit copies: masters that, rounded, are not the copy, by more than the
    /// last bit.
    uint64_t staleLeft = 0;
    uint64_t staleRight = 0;
    bool roundedLeft = false; ///< masters differ, and where they do, this side's are values of 16 bits
    bool roundedRight = false;
};

struct ScalarDifference {
    StateScalar left; ///< value empty: not there
    StateScalar right;
};

/// Two training states held against each other.
struct StateDiff {
    uint64_t parameters = 0; ///< compared: on both sides, of one shape
    uint64_t tensors = 0;
    uint64_t elements = 0;
    uint64_t scalars = 0;
    std::vector<ParamDifference> params; ///< that differ, what matters most first
    std::vector<ScalarDifference> scalarDifferences;
    /// Parameters whose masters, rounded, are not the 16-bit copies beside them, equal on both sides or not.
    std::vector<std::string> staleCopiesLeft;
    std::vector<std::string> staleCopiesRight;

    /// Whether tensors were compared and nothing is beyond the tolerance. Copies beside masters do not count.
    [[nodiscard]] bool areEqual() const;
};

/// Reads both checkpoints once, piece by piece. Both have the same parallel degrees (inSameDegrees()) and a
/// logical model. A state of which a side lacks a part, as of a missing rank, counts as not there. Memory: 2
/// MiB per state and job, and what differs. Unreadable, Cancelled.
Result<StateDiff> diffStates(io::FileSystem& files, const Checkpoint& left, const Checkpoint& right,
    const DiffOptions& options, const ComputeBackend& backend, JobContext& job);

} // namespace shardscope
