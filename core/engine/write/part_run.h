// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"

namespace shardscope {

struct PartReport {
    Part part;
    io::Path workFolder;
    double seconds = 0;
    uint64_t bytes = 0; ///< of the part
    uint64_t bytesWritten = 0; ///< by this run
    uint64_t bytesReused = 0; ///< written by earlier runs
    double bytesPerSecond = 0;
    uint64_t files = 0; ///< in which the part has bytes
    bool verified = false; ///< everything that was written was read back
    ComputeReport compute;
};

/// Fails where executePart() would fail before it writes, except for what other processes and earlier runs
/// did in the work folder. Creates and changes nothing.
Status examinePart(
    io::FileSystem& files, const WritePlan& plan, Part part, const ExecuteOptions& options, JobContext& job);

/// Writes one part of a plan's output into the job's work folder: with others, at the same time or later, on
/// any machine that sees the same files, in any order, again after a failure. execute() with
/// ExecuteOptions::finish then combines and publishes.
///
/// Where the whole job is done, nothing is written. TargetExists as execute(). Busy while another process has
/// the same part or the whole folder. Unsupported with ExecuteOptions::sha256, Usage with restart. Cancelled
/// keeps what was written.
Result<PartReport> executePart(
    io::FileSystem& files, const WritePlan& plan, Part part, const ExecuteOptions& options, JobContext& job);

} // namespace shardscope
