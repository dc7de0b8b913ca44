// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/repair_tags.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/open/open.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Whether the error is caused by the folder's content: every later read fails, too.
bool isDamage(ErrorCode code)
{
    return code == ErrorCode::Damaged || code == ErrorCode::Hostile || code == ErrorCode::NotACheckpoint
        || code == ErrorCode::Unsupported;
}

/// Whether the tag is complete. The run's pointer does not matter.
bool isWhole(const Checkpoint& other)
{
    return other.supported && !other.modelError && other.fullyRead
        && std::none_of(other.findings.begin(), other.findings.end(), [](const Finding& finding) {
               return finding.severity == Severity::Error && finding.code != code::kLatestMissing
                   && finding.code != code::kLatestDangling;
           });
}

/// A failing disk must not decide which tag is used.
Status checkReadable(const Checkpoint& other)
{
    for (const Finding& finding : other.findings) {
        if (finding.code == code::kFileUnreadable)
            return fail(ErrorCode::Refused, "tag `" + other.tag + "` cannot be read: " + finding.message,
                (other.tagFolder / finding.where.file()).string(),
                "make it readable, or choose explicitly: the tag to repair with --tag, a donor with --from");
    }
    return {};
}

} // namespace

Result<std::vector<std::string>> tagsOfRun(io::FileSystem& files, const io::Path& run)
{
    SHARDSCOPE_TRY(const auto entries, files.list(run));
    std::vector<std::string> out;
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.type != io::FileType::Directory || entry.name.starts_with(".")
            || entry.name == "lost+found")
            continue;
        SHARDSCOPE_TRY(const auto inside, files.list(run / entry.name));
        const bool holdsStates = std::any_of(inside.begin(), inside.end(),
            [](const io::DirectoryEntry& file) { return parseCheckpointFileName(file.name).has_value(); });
        if (holdsStates)
            out.push_back(entry.name);
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return tagLess(a, b); });
    return out;
}

Result<CheckpointPtr> wholeTag(
    io::FileSystem& files, const io::Path& run, const std::string& tag, JobContext& job)
{
    OpenOptions options;
    options.tag = tag;
    const auto opened = openCheckpoint(files, run, options, job);
    SHARDSCOPE_CHECK(job.poll());
    if (!opened && isDamage(opened.error().code))
        return CheckpointPtr();
    if (!opened)
        return forward(opened.error());
    if (isWhole(*opened->checkpoint))
        return opened->checkpoint;
    SHARDSCOPE_CHECK(checkReadable(*opened->checkpoint));
    return CheckpointPtr();
}

Result<CheckpointPtr> neighbourTag(
    io::FileSystem& files, const io::Path& run, const std::string& tag, JobContext& job)
{
    SHARDSCOPE_TRY(const std::vector<std::string> tags, tagsOfRun(files, run));
    const auto own = std::find(tags.begin(), tags.end(), tag);
    if (own == tags.end())
        return CheckpointPtr();
    const auto at = own - tags.begin();
    for (ptrdiff_t away = 1; away < static_cast<ptrdiff_t>(tags.size()); ++away) {
        for (const ptrdiff_t i : {at - away, at + away}) {
            if (i < 0 || i >= static_cast<ptrdiff_t>(tags.size()))
                continue;
            SHARDSCOPE_TRY(CheckpointPtr other, wholeTag(files, run, tags[static_cast<size_t>(i)], job));
            if (other)
                return other;
        }
    }
    return CheckpointPtr();
}

Result<CheckpointPtr> newestWholeTag(io::FileSystem& files, const io::Path& run, JobContext& job)
{
    SHARDSCOPE_TRY(const std::vector<std::string> tags, tagsOfRun(files, run));
    for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
        SHARDSCOPE_TRY(CheckpointPtr found, wholeTag(files, run, *tag, job));
        if (found)
            return found;
    }
    return fail(ErrorCode::Refused, "no tag of the run is complete", run.string(),
        "name one with --tag, and the findings to repair with --fix");
}

} // namespace shardscope
