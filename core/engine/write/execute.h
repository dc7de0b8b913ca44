// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/engine: runs plans, and reads again what is written.
//
// Folder core/engine/write: runs a plan in a work folder and publishes its files at once, or continues after
// an interruption. Start with execute().

#include "core/base/job_context.h"
#include "core/base/peers.h"
#include "core/compute/compute_choice.h"
#include "core/engine/parts/part_ranges.h"
#include "core/engine/stream/stage_times.h"
#include "core/engine/write/lease.h"
#include "core/plan/model/write_plan.h"

#include <array>
#include <string>
#include <vector>

namespace shardscope {

struct ExecuteOptions {
    /// The folder for the target: absent, empty or a run folder (for an export, the parent of DST). The
    /// target is destination/plan.targetName. For an export it may be a folder with other files.
    io::Path destination;
    /// A destination that is inside it, equal to it or contains it is a Usage error; for an export, such a
    /// target.
    io::Path sourceRunFolder;
    /// The identity of the source's run, for the manifest (core/engine/ensure/copies.h); empty: none.
    std::string sourceRun = {};
    unsigned jobs = 0; ///< worker threads; 0 = as many as there are processors, at most 16
    uint64_t memoryLimitBytes = uint64_t{256} << 20; ///< all payload buffers together
    bool verify = true; ///< read the output again and compare
    bool force = false; ///< replace an existing target
    bool sha256 = false; ///< record SHA-256 of every file in the manifest, instead of xxh3-128
    bool restart = false; ///< discard an interrupted work folder
    ComputeChoice compute; ///< the device for the arithmetic
    LeaseOptions lease = {}; ///< of the work folder
    /// Only combines what parts have written (part_run.h). Refused, with their numbers, if some are missing.
    bool finish = false;
    PieceSizes pieces = {}; ///< of jobs in parts
    Peers* peers = nullptr; ///< processes that share the work, see peer_writers.h; this one is process 0
};

struct ExecuteReport {
    io::Path output; ///< the target: DST/TAG, for an export DST
    double seconds = 0;
    uint64_t bytesWritten = 0; ///< by this run, without files of an interrupted run
    uint64_t bytesReused = 0; ///< from files that an interrupted run finished
    double bytesPerSecond = 0;
    bool wasDone = false; ///< an earlier run had finished; this one wrote and verified nothing
    bool verified = false;
    /// If verified by this run: all of it was read from the device by direct I/O, not through the page cache.
    bool readDirectly = false;
    std::string fingerprint; ///< of the whole training state, 32 hex digits; empty if not written
    uint64_t peakBufferBytes = 0;
    ComputeReport compute;
    /// Seconds summed over all threads, by stage.
    std::array<double, kStages> stageSeconds{};
    double processorSeconds = 0; ///< of the whole process while the job ran
    uint64_t bytesRead = 0; ///< from the source, about
    uint64_t bytesReadBack = 0;
    double secondsHeldBack = 0; ///< by a limit on bytes a second, summed over all threads
    size_t workers = 1; ///< threads of each stage

    /// Bytes a second that a stage had while it worked: its limit if nothing else had limited it. Only of
    /// Reading, Writing and Verification; 0 if it did nothing.
    [[nodiscard]] double rateOf(Stage stage) const;
    /// The share of all processors' time that was used, 0 to 1.
    [[nodiscard]] double processorShare() const;
    /// "bwlimit" if a limit on bytes a second held threads back for most of the time; "processor" if that was
    /// busy nearly all of the time; else "reading", "writing" or "verification": the stage whose threads
    /// worked longest. Null if nothing was done.
    [[nodiscard]] const char* limitedBy() const;
};

/// What execute() would do, as far as one look can tell.
struct RunOutlook {
    bool isDone = false; ///< a finished run of this plan wrote the target: nothing would be written
    uint64_t bytesLeft = 0; ///< to write, without what an interrupted run finished
};

/// Fails where execute() would fail before it writes payload, with the same errors: also for want of space or
/// of permission, while the job runs, and where an interrupted job cannot be continued. Creates and changes
/// nothing.
Result<RunOutlook> examineRun(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job);

/// Runs a plan: read → write → verify → commit.
///
/// An export into a folder that exists works in DST/.NAME.partial-ID inside that folder, and moves its files
/// there one by one, the manifest last (export_publish.h). For tags and new folders:
/// DST/TAG is complete, durable and verified, or it does not exist; `latest` never names
/// anything else; the source is never modified; the same call after any crash continues and results in the
/// same bytes. Files next to the target ("../NAME" in the plan) are published after the target and before
/// `latest`; another file with that name is TargetExists, unless forced. The work folder is
/// DST/.TAG.partial-ID (lock, lease, plan, journal, finished files); the commit is one rename. Output bytes
/// do not depend on jobs, memory limit or interruptions. Every source record is read once while writing; in
/// that pass its CRC is checked and digests of its elements are computed. Cancelled keeps the work folder, so
/// that the same call continues. With verification, everything is read back from the device while other parts
/// are written; afterwards the result is opened, and its structure is compared with the plan.
///
/// A job that was begun in parts is completed: what they have not written is written now.
///
/// A finished job that is run again, without force, writes nothing (ExecuteReport::wasDone): its target is as
/// the first run left it, by sizes and times.
Result<ExecuteReport> execute(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job);

} // namespace shardscope
