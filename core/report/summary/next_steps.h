// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/report/summary: what is said of a checkpoint as a whole: what can be done next with it, and who
// wrote it. Start with nextSteps().

#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/open/open.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardscope {

enum class NextStepId : uint8_t {
    Repair, ///< on a copy
    Resume, ///< at another number of GPUs, in another stage
    Convert, ///< into the universal form
    Export, ///< of the weights
    Compare, ///< with another checkpoint
    Verify, ///< against what was recorded when it was written
};

struct NextStep {
    NextStepId id = NextStepId::Repair;
    std::string whyNot; ///< one sentence; empty if it can be done
    /// Of a possible one: why it cannot be done before other settings are chosen, such as a donor.
    std::string whyNotAtOnce = {};
    bool isOptional = false; ///< a repair that changes nothing that is a problem
    bool isUnplanned = false; ///< a repair: only reading every byte again would show whether it can be done

    [[nodiscard]] bool isPossible() const { return whyNot.empty(); }
};

/// Where a checkpoint was opened.
struct OpenedAt {
    io::Path path;
    OpenOptions open = {};
};

/// What can be done next with a checkpoint that was fully read, in a fixed order. The planners of the jobs
/// decide: nothing is written. `found`: the findings of the check. Only where some of them are problems with
/// a fix, the checkpoint is examined again, to plan the repair: its metadata, and every byte only of one that
/// is small (defaultCheckDepth()) and has findings that are not seen without. Nothing else reads payload.
///
/// A job that first asks for an option, such as the stage of the new run, counts as possible. Empty after a
/// stop.
std::vector<NextStep> nextSteps(io::FileSystem& files, const OpenedAt& at, const CheckpointPtr& checkpoint,
    std::span<const Finding> found, JobContext& job);

/// Why a job that only reads cannot run on a checkpoint: each one sentence, or empty if it can.
struct ReadingJobs {
    std::string whyNotVerify; ///< not even checksums
    std::string whyNotFingerprint;
    std::string whyNotSkeleton;
};

/// For a checkpoint that was fully read. Looks for its manifest, and reads nothing else.
ReadingJobs readingJobs(io::FileSystem& files, const Checkpoint& checkpoint);

} // namespace shardscope
