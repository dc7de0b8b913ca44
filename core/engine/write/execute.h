// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/engine/stream/stage_times.h"
#include "core/plan/model/write_plan.h"
#include "core/tensor/compute_choice.h"

#include <array>
#include <string>
#include <vector>

namespace shardscope {

struct ExecuteOptions {
    /// The folder that the target comes into: absent, empty or a run folder (for an export, the parent of
    /// DST). The target is destination/plan.targetName(). For an export it may be a folder with other files.
    io::Path destination;
    /// A destination inside, equal to or around it is a Usage error; for an export, a target.
    io::Path sourceRunFolder;
    unsigned jobs = 0; ///< worker threads; 0 = as many as there are processors, at most 16
    uint64_t memoryLimitBytes = uint64_t{256} << 20; ///< payload buffers in all
    bool verify = true; ///< re-read what was written and compare
    bool force = false; ///< replace an existing target
    bool restart = false; ///< discard an interrupted work folder
    ComputeChoice compute; ///< what does the arithmetic
};

struct ExecuteReport {
    io::Path output; ///< the target: DST/TAG, for an export DST
    double seconds = 0;
    uint64_t bytesWritten = 0; ///< by this run, without files kept from an interrupted one
    uint64_t bytesReused = 0; ///< finished by an interrupted run and found intact
    double bytesPerSecond = 0;
    bool verified = false;
    std::string fingerprint; ///< of the whole training state, 32 hex digits; empty where none is written
    uint64_t peakBufferBytes = 0;
    ComputeReport compute;
    /// Seconds of all threads together, by stage.
    std::array<double, kStages> stageSeconds{};
    /// The stage that took most of them; null where nothing was done.
    [[nodiscard]] const char* limitedBy() const;
};

/// Runs a plan: read → write → verify → commit.
///
/// An export into a folder that exists works in DST/.NAME.partial-ID inside that folder, and moves its files
/// there one by one, the manifest last (export_publish.h). For tags and new folders:
/// DST/TAG is complete, durable and verified, or it does not exist; `latest` never names
/// anything else; the source is never modified; the same call after any crash continues and gives the same
/// bytes. Files for beside the target ("../NAME" in the plan) come to their place between the target and
/// `latest`; another file of that name there is TargetExists, unless forced. Work goes on in
/// DST/.TAG.partial-ID (lock, plan, journal, finished files); the commit is one rename. Output bytes do not
/// depend on jobs, memory limit or interruptions. Every source record is read once while writing, its CRC
/// checked, digests of its elements taken in that pass. Cancelled leaves the work folder, so that the same
/// call goes on.
Result<ExecuteReport> execute(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job);

} // namespace shardscope
