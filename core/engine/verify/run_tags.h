// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/doctor/examine.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

struct RunListing;

/// One tag of a run, as far as names, sizes and headers of its files and rank 0's metadata show. No value is
/// read.
struct TagSummary {
    /// The tag's name; in the output folder of a framework the name of the numbered checkpoint.
    std::string tag;
    io::Path folder; ///< what to load: the tag folder, or the numbered checkpoint that contains it
    io::Path tagFolder;
    bool latest = false; ///< `latest` names it, or it is the newest numbered checkpoint
    /// Why it cannot be read at all; then only the fields above are set.
    std::optional<Error> error = {};
    StepCounters steps;
    CheckpointKind kind{}; ///< "unknown" until it is read
    ParallelDegrees parallel;
    int64_t modifiedNs = 0; ///< of its newest file, since 1970
    uint64_t bytes = 0;
    std::string fingerprint; ///< 32 hex digits from its manifest; else empty
    uint64_t fingerprintVersion = 0; ///< of its definition; 0 without one
    /// Of the tag, without those of the run's pointer file. Ordered as in CheckResult.
    std::vector<DoctorFinding> findings;

    [[nodiscard]] size_t count(Severity severity) const;
    bool confirmed = false; ///< the metadata of every file were read, too
    /// Every file that stock DeepSpeed needs exists and has a complete header, and no error was found. Values
    /// can still be damaged: only a check that reads every byte finds this.
    [[nodiscard]] bool isComplete() const { return !error && count(Severity::Error) == 0; }
};

/// The fingerprint in the manifest of a tag, as 32 hex digits, and the version of its definition; empty and 0
/// without one: the state when the tag was written, also if its files have changed since. An error if the
/// manifest cannot be read, or has a fingerprint of a newer definition.
Result<std::pair<std::string, uint64_t>> recordedFingerprint(
    io::FileSystem& files, const io::Path& tagFolder);

/// The tags of the run that PATH belongs to: a run folder, a tag folder, or the output folder of a framework.
struct RunTags {
    io::Path base; ///< the folder to open with one of `names` as the tag
    std::vector<std::string> names; ///< oldest first
    std::string latest; ///< the one of `names` that `latest` names; empty if none
    bool numbered = false; ///< `names` are numbered checkpoints of a framework
    std::vector<Finding> findings = {}; ///< of the run's pointer file
};

/// Errors: those of discover(); NotFound if there is no tag; Unreadable if a folder that may be the newest
/// tag cannot be listed.
Result<RunTags> tagsOf(io::FileSystem& files, const io::Path& path, JobContext& job);

/// The same for a run that is to be resumed: no names if nothing has been saved in the folder yet.
Result<RunTags> tagsSoFar(io::FileSystem& files, const io::Path& path, JobContext& job);

/// A checkpoint without a tag, for example a distributed one of PyTorch: `tag` is empty. Errors: those of
/// openCheckpoint(), and of an outage (outage_watch.h).
Result<TagSummary> summarizeUntagged(
    io::FileSystem& files, const io::Path& path, unsigned jobs, JobContext& job);

/// Reads tags of a run. `jobs` threads. The functions fail only if cancelled or after an outage
/// (outage_watch.h): a tag that cannot be read for another reason has `error` set.
class TagReader
{
public:
    TagReader(io::FileSystem& files, RunTags run, unsigned jobs, JobContext& job);

    /// Names and headers of one tag, and a structural snapshot of it.
    Result<TagSummary> summarize(const std::string& tag);
    /// Reads the metadata of all files of a tag that seems complete: a file of another step is found only
    /// there. Replaces its findings.
    Status confirm(TagSummary& tag);
    /// Of those that seem complete, the newest one. `tags`: oldest first.
    Status confirmNewest(std::vector<TagSummary>& tags);
    /// The newest complete tag is confirmed; newer ones that are not complete come after it. Older tags are
    /// not read. If none is complete, the list has all.
    Result<std::vector<TagSummary>> downToNewestComplete();

private:
    /// What the first model file and the names of all files say.
    void describe(TagSummary& out);
    [[nodiscard]] Result<CheckResult> examined(const std::string& tag, CheckDepth depth);
    /// Lists the run once, for all of its tags.
    Status list();

    io::FileSystem& m_files;
    RunTags m_run;
    unsigned m_jobs;
    JobContext& m_job;
    std::shared_ptr<const RunListing> m_listing;
    std::shared_ptr<const std::vector<FolderEntry>> m_entries;
};

} // namespace shardscope
