// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/open/open.h"
#include "core/doctor/check_context.h"
#include "core/doctor/diagnosis.h"

#include <array>
#include <functional>

namespace shardscope {

struct CheckOptions {
    CheckDepth depth = CheckDepth::Metadata;
    bool choosesDepth = false; ///< takes defaultCheckDepth() of what is opened, not `depth`
    OpenOptions open; ///< tag and roots
    CheckTarget target;
    std::vector<std::string> only; ///< codes or letters; empty: all
    std::vector<std::string> skip; ///< the same; wins over `only`
    unsigned jobs = 0; ///< threads; 0: defaultJobs()
    /// What PATH holds, where it was opened in full just now, so that it is not opened again.
    CheckpointPtr opened = {};
};

/// A finding with what the doctor knows of it.
struct DoctorFinding {
    Finding finding;
    const Diagnosis* diagnosis = nullptr; ///< never null
    /// What repairs it, without the program's name; empty when nothing does, or when it is not known how yet.
    std::string command;
    CheckDepth seenIn = CheckDepth::Names; ///< the tier in which it was seen
};

/// What one tier took.
struct TierFacts {
    bool done = false;
    double seconds = 0;
};

/// The doctor's answer about one path.
struct CheckResult {
    std::string path; ///< as it was asked for
    CheckpointPtr checkpoint; ///< null below the metadata, and where nothing opens
    io::Path folder; ///< the tag folder, else the run folder, that relative names start from
    std::string tag;
    /// What matters most first: errors that stock DeepSpeed loads silently, other errors, warnings,
    /// notes.
    std::vector<DoctorFinding> findings;
    std::array<TierFacts, 4> tiers; ///< by CheckDepth
    CheckDepth depth = CheckDepth::Metadata; ///< asked for or chosen
    uint64_t bytesNotRead = 0; ///< of the checkpoint's files; 0 where every byte was read
    bool stopped = false; ///< on request, before all was looked at
    /// Why the path cannot be examined; nothing but `path` is set then. examine() returns such an error: only
    /// who checks several paths stores it here.
    std::optional<Error> error = {};

    [[nodiscard]] std::optional<Severity> worst() const;
    /// What the bytes that were not read contain: "values", "metadata and values", "content". Empty where
    /// every byte was read.
    [[nodiscard]] std::string_view partNotRead() const;
};

/// How deep a checkpoint is checked when nobody chose: every byte below 2 GiB, else what needs no values.
CheckDepth defaultCheckDepth(const Checkpoint& checkpoint);
/// Bytes of files that a complete check of this depth does not read; 0 where it reads every byte.
uint64_t bytesNotRead(const Checkpoint& checkpoint, CheckDepth depth);

/// Called as findings are made, one at a time, from any thread.
using FindingWatch = std::function<void(const DoctorFinding&)>;

/// Success when every word names a diagnosis; else Usage with the nearest.
Status checkCodes(const std::vector<std::string>& words);

/// Examines whatever PATH is, a tier after the other. What cannot be opened at all but has the names of a
/// checkpoint is a finding, too. A stop leaves what was found so far. Errors as openCheckpoint()'s where
/// there is nothing to examine: NotFound, Unreadable, NotACheckpoint.
Result<CheckResult> examine(io::FileSystem& files, const io::Path& path, const CheckOptions& options,
    JobContext& job, const FindingWatch& watch = {});

} // namespace shardscope
