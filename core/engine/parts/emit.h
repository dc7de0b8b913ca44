// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/compute/compute_choice.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardscope {

struct EmitOptions {
    unsigned jobs = 2; ///< 1: the thread that generates the bytes also passes them on
    uint64_t memoryLimitBytes = uint64_t{256} << 20; ///< all payload buffers together
    ComputeChoice compute = {};
};

/// What emitFile() passed on.
struct Emitted {
    std::string plan; ///< WritePlan::id
    std::string file; ///< PlannedFile::path
    uint64_t bytes = 0;
    std::string digest; ///< of its content (content_digest.h)
    std::string sums; ///< of its elements and sources, for combineEmitted() (piece_journal.h)
};

/// The index of the planned file with that path. NotFound, with the nearest one.
Result<uint32_t> plannedFileNamed(const WritePlan& plan, const std::string& path);

/// Passes on exactly the bytes that a run of the plan would write as files[file], in order, from those ranges
/// of the sources that it needs. `consumer` can be called from another thread, one call at a time.
///
/// After an error, what was passed on must not be used: a source that is damaged is noticed at its end.
/// CRCs of source records that the file needs in part are checked by combineEmitted(). Damaged,
/// SourceChanged, Cancelled, and errors of the consumer.
Result<Emitted> emitFile(io::FileSystem& files, const WritePlan& plan, uint32_t file,
    const std::function<Status(std::span<const uint8_t> bytes)>& consumer, const EmitOptions& options,
    JobContext& job);

/// The sum of what was emitted of one plan.
struct EmittedSum {
    std::string plan; ///< WritePlan::id
    uint64_t files = 0;
    uint64_t bytes = 0;
    std::vector<std::string> missing; ///< planned files that were not emitted, in the plan's order
    /// Of the training state, as ExecuteReport::fingerprint. Only if no file is missing; none for plans that
    /// do not write a training state.
    std::optional<std::string> fingerprint;
};

/// Checks that what several processes emitted is the whole output: every file, each element of a tensor
/// counted once, from sources that match their saved checksums. A file may have been emitted several times. Reads only what no
/// single one of them could check.
///
/// Refused if one is of another plan, or was not written by emitFile(); VerifyFailed if a file was emitted
/// with different contents; Damaged, SourceChanged. With files missing, what was emitted is checked all the
/// same.
Result<EmittedSum> combineEmitted(io::FileSystem& files, const WritePlan& plan,
    std::span<const Emitted> emitted, const EmitOptions& options, JobContext& job);

} // namespace shardscope
