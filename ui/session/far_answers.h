// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_fingerprint.h"
#include "core/doctor/examine.h"
#include "core/engine/verify/verify.h"
#include "core/report/answers/stats_report.h"
#include "ui/session/check_run.h"
#include "ui/session/compare_run.h"

#include <functional>
#include <string>
#include <vector>

namespace shardscope::ui {

// What reads all values of a checkpoint on another host is computed there, and the answer of that host's
// program is read back: for a large checkpoint some kilobytes instead of all of it. SourceChanged if the
// files are no longer those that were read from here. For workers.

/// A checkpoint on another host, as it was read, and where that was.
struct CheckpointThere {
    io::FileSystem& files;
    const CheckPlace& place;
    const Checkpoint& checkpoint;
};

/// The host that has all of a place; empty: this machine, or several hosts.
std::string hostOf(const CheckPlace& place);

/// As core/doctor's examine(). A check of every byte reads the metadata from here, and the bytes there. Its
/// result has no ByteFacts then.
Result<CheckResult> examineAnywhere(io::FileSystem& files, const CheckPlace& place,
    const CheckOptions& options, JobContext& job, const FindingWatch& watch);

/// The fingerprint of a checkpoint that is all on one host, which is not this machine. `files` and `bytes`
/// are those of the checkpoint.
Result<StateFingerprint> fingerprintThere(const CheckpointThere& of, JobContext& job);

/// The report of `verify` on such a checkpoint: with values that no run saved as problems.
Result<VerifyReport> verifyThere(const CheckpointThere& of, JobContext& job);
/// What every element of these tensors says, of such a checkpoint: in their order, also from several answers.
Status statisticsThere(const CheckpointThere& of, const std::vector<TensorAsked>& tensors, JobContext& job,
    const std::function<Status(const TensorAsked& tensor, const TensorFacts& found)>& take);
/// The exact statistics of one tensor of such a checkpoint, with its histogram.
Result<TensorStatistics> exactStatisticsThere(
    const CheckpointThere& of, const TensorAsked& tensor, JobContext& job);

/// Whether both are on one host, which is not this machine, with all that the comparison needs.
bool canCompareThere(const CheckPlace& left, const CompareWish& wish);
/// judgeDiff() of a pair that can be compared there, opened from here. `left`: as in the pair.
Result<JudgedDiff> compareThere(io::FileSystem& files, const PlacedCheckpoint& left, const DiffPair& pair,
    const CompareWish& wish, JobContext& job);

} // namespace shardscope::ui
