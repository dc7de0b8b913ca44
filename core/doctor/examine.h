// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/doctor: runs checks on a path and collects their findings. Start with examine(), then Diagnosis
// and CheckContext; diagnosis_tables.h names the tables of core/doctor/diagnoses.

#include "core/base/shared_work.h"
#include "core/checkpoint/open/open.h"
#include "core/doctor/check_context.h"
#include "core/doctor/diagnosis.h"

#include <array>
#include <functional>

namespace shardscope {

struct RunListing;
struct ByteFacts;

struct CheckOptions {
    CheckDepth depth = CheckDepth::Metadata;
    bool choosesDepth = false; ///< use defaultCheckDepth() of the checkpoint, not `depth`
    OpenOptions open; ///< tag and roots
    CheckTarget target;
    std::vector<std::string> only; ///< codes or letters; empty: all
    std::vector<std::string> skip; ///< the same; wins over `only`
    unsigned jobs = 0; ///< threads; 0: defaultJobs()
    /// The checkpoint at PATH, if it is already opened in full, so that it is not opened again.
    CheckpointPtr opened = {};
    /// PATH, a run folder or a framework's output folder, that was listed before. Only with a tag.
    std::shared_ptr<const RunListing> listing = {};
    std::shared_ptr<const std::vector<FolderEntry>> runEntries = {}; ///< with it: folderEntries() of PATH
    SharedWork* shared = nullptr; ///< processes that share the reading of every byte
};

/// A finding with its diagnosis and repair command.
struct DoctorFinding {
    Finding finding;
    const Diagnosis* diagnosis = nullptr; ///< never null
    /// The command that repairs it, without the program's name; empty if there is none.
    std::string command;
    CheckDepth seenIn = CheckDepth::Names; ///< the tier in which it was seen
};

/// State and duration of one tier.
struct TierFacts {
    bool done = false;
    double seconds = 0;
};

/// The result of the check of one path.
struct CheckResult {
    std::string path; ///< as given
    CheckpointPtr checkpoint; ///< null below CheckDepth::Metadata, and if nothing can be opened
    io::Path folder; ///< the tag folder or else the run folder: the base of relative names
    std::string tag;
    /// Most important first: errors that stock DeepSpeed loads silently, other errors, warnings, infos.
    std::vector<DoctorFinding> findings;
    std::array<TierFacts, 4> tiers; ///< by CheckDepth
    CheckDepth depth = CheckDepth::Metadata; ///< requested or chosen
    CheckTarget target = {}; ///< the use that it was checked for
    uint64_t bytesNotRead = 0; ///< of the checkpoint's files; 0 where every byte was read
    bool stopped = false; ///< on request, before the check was complete
    std::shared_ptr<const ByteFacts> bytes = {}; ///< what reading every byte found; null if it was not done
    /// Why the path cannot be examined; then only `path` is also set. examine() returns such an error; only
    /// callers that check several paths store it here.
    std::optional<Error> error = {};

    [[nodiscard]] std::optional<Severity> worst() const;
    /// The content of the bytes that were not read: "values", "metadata and values", "content". Empty if
    /// every byte was read.
    [[nodiscard]] std::string_view partNotRead() const;
};

/// The default depth: Bytes below 2 GiB on this machine, else Metadata.
CheckDepth defaultCheckDepth(const Checkpoint& checkpoint);
/// Bytes of files that a complete check of this depth does not read; 0 where it reads every byte.
uint64_t bytesNotRead(const Checkpoint& checkpoint, CheckDepth depth);

/// Called for each finding, one at a time, from any thread.
using FindingWatch = std::function<void(const DoctorFinding&)>;

/// Success if every word names a diagnosis; else Usage.
Status checkCodes(const std::vector<std::string>& words);

/// Examines PATH, one tier after the other. A folder with the names of a checkpoint that cannot be opened
/// results in a finding. After a stop, the result has the findings so far. Errors are those of
/// openCheckpoint(): NotFound, Unreadable, NotACheckpoint.
Result<CheckResult> examine(io::FileSystem& files, const io::Path& path, const CheckOptions& options,
    JobContext& job, const FindingWatch& watch = {});

} // namespace shardscope
