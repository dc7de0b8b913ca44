// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/run_tags.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/open/open_listed.h"
#include "core/engine/stream/manifest_reader.h"
#include "core/io/outage_watch.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr uint64_t kMaxManifestBytes = uint64_t{256} << 20;

/// Whether the finding is about the run's pointer file, not about a tag.
bool isOfPointer(const Finding& finding)
{
    return finding.code == code::kLatestMissing || finding.code == code::kLatestDangling;
}

void keepThoseOfTag(std::vector<DoctorFinding>& findings)
{
    std::erase_if(findings, [](const DoctorFinding& made) { return isOfPointer(made.finding); });
}

std::string keyOf(const Finding& finding)
{
    return std::string(finding.code) + '\0' + finding.where.text();
}

/// Diagnoses that a structural snapshot reports anyway.
std::vector<std::string> codesOfFileCounts()
{
    std::vector<std::string> out;
    for (const Diagnosis* diagnosis : diagnoses()) {
        if (diagnosis->countsFiles)
            out.emplace_back(diagnosis->code);
    }
    return out;
}

/// What a structural snapshot of it says, and the manifest.
void addFacts(io::FileSystem& files, const Checkpoint& checkpoint, TagSummary& out)
{
    out.steps = checkpoint.steps;
    out.kind = checkpoint.kind;
    out.parallel = checkpoint.parallel;
    for (const CheckpointFile& file : checkpoint.files) {
        if (file.status == FileStatus::Missing || file.status == FileStatus::Foreign)
            continue;
        out.bytes += std::min(file.identity.bytes, std::numeric_limits<uint64_t>::max() - out.bytes);
        out.modifiedNs = std::max(out.modifiedNs, file.identity.modifiedNs);
    }
    std::unordered_set<std::string> known;
    for (const DoctorFinding& made : out.findings)
        known.insert(keyOf(made.finding));
    for (const Finding& finding : checkpoint.findings) {
        if (known.insert(keyOf(finding)).second)
            out.findings.push_back(
                {finding, &diagnosisOf(finding.code), std::string(), CheckDepth::Metadata});
    }
    if (auto recorded = recordedFingerprint(files, checkpoint.tagFolder))
        std::tie(out.fingerprint, out.fingerprintVersion) = std::move(*recorded);
}

} // namespace

Result<std::pair<std::string, uint64_t>> recordedFingerprint(io::FileSystem& files, const io::Path& tagFolder)
{
    const auto text = files.readSmall(tagFolder / kManifestName, kMaxManifestBytes);
    if (!text && text.error().code == ErrorCode::NotFound)
        return std::pair<std::string, uint64_t>();
    if (!text)
        return forward(text.error());
    SHARDSCOPE_TRY(const Manifest manifest, parseManifest(*text));
    if (manifest.fingerprintIsNewer)
        return fail(ErrorCode::Unsupported, "the fingerprint is of a newer version of Shardscope");
    if (manifest.fingerprint.empty())
        return std::pair<std::string, uint64_t>();
    return std::pair(manifest.fingerprint, static_cast<uint64_t>(manifest.fingerprintVersion));
}

size_t TagSummary::count(Severity severity) const
{
    return static_cast<size_t>(std::count_if(findings.begin(), findings.end(),
        [severity](const DoctorFinding& made) { return made.finding.severity == severity; }));
}

Result<RunTags> tagsOf(io::FileSystem& files, const io::Path& path, JobContext& job)
{
    const io::OutageWatch watch;
    SHARDSCOPE_TRY(const io::Path asked, files.canonical(path));
    SHARDSCOPE_TRY(const Discovery found, discover(files, asked, {}, job));
    if (!found.unreadableFolders.empty())
        return fail(ErrorCode::Unreadable, "a folder that may be the newest tag cannot be read",
            (found.runFolder / found.unreadableFolders.back()).string());
    RunTags out;
    out.findings = found.findings;
    out.numbered = !found.runFolder.empty() && found.runFolder.parent_path() == asked;
    out.base = out.numbered ? asked : found.runFolder;
    if (out.numbered) { // `tags`: the older ones, then the tags inside the newest one
        const auto sibling = [&](const std::string& name) {
            const auto info = files.stat(asked / name);
            return info && info->type == io::FileType::Directory;
        };
        std::copy_if(found.tags.begin(), found.tags.end(), std::back_inserter(out.names), sibling);
        out.latest = found.runFolder.filename().string();
        out.names.push_back(out.latest);
    } else {
        out.names = found.tags;
        if (found.latest && std::find(out.names.begin(), out.names.end(), *found.latest) != out.names.end())
            out.latest = *found.latest;
    }
    SHARDSCOPE_CHECK(watch.status());
    if (found.runFolder.empty() || out.names.empty())
        return fail(ErrorCode::NotFound, "no tag folder with checkpoint files is here", asked.string(),
            "give a run folder, the one with `latest`, or a framework's output folder");
    return out;
}

Result<RunTags> tagsSoFar(io::FileSystem& files, const io::Path& path, JobContext& job)
{
    auto out = tagsOf(files, path, job);
    if (out || out.error().code != ErrorCode::NotACheckpoint)
        return out;
    const io::OutageWatch watch;
    SHARDSCOPE_TRY(const io::Path folder, files.canonical(path));
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(folder));
    if (info.type != io::FileType::Directory)
        return out;
    SHARDSCOPE_TRY(const bool isEmpty, holdsNoCheckpoint(files, folder, job));
    SHARDSCOPE_CHECK(watch.status());
    if (isEmpty)
        return RunTags{folder, {}, {}, false};
    return out;
}

Result<TagSummary> summarizeUntagged(
    io::FileSystem& files, const io::Path& path, unsigned jobs, JobContext& job)
{
    const io::OutageWatch watch;
    TagSummary out;
    out.folder = path;
    out.tagFolder = path;
    CheckOptions options;
    options.depth = CheckDepth::Headers;
    options.jobs = jobs;
    options.skip = codesOfFileCounts();
    SHARDSCOPE_TRY(CheckResult checked, examine(files, path, options, job));
    out.findings = std::move(checked.findings);
    OpenOptions opening;
    opening.depth = OpenDepth::Structure;
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, openCheckpoint(files, path, opening, job));
    SHARDSCOPE_CHECK(job.poll());
    out.tag = opened.checkpoint->tag;
    addFacts(files, *opened.checkpoint, out);
    SHARDSCOPE_CHECK(watch.status());
    return out;
}

TagReader::TagReader(io::FileSystem& files, RunTags run, unsigned jobs, JobContext& job)
    : m_files(files)
    , m_run(std::move(run))
    , m_jobs(jobs)
    , m_job(job)
{
}

Result<CheckResult> TagReader::examined(const std::string& tag, CheckDepth depth)
{
    SHARDSCOPE_CHECK(list());
    CheckOptions options;
    options.open.tag = tag;
    options.listing = m_listing;
    options.runEntries = m_entries;
    options.depth = depth;
    options.jobs = m_jobs;
    if (depth < CheckDepth::Metadata) // describe() opens it
        options.skip = codesOfFileCounts();
    auto out = examine(m_files, m_run.base, options, m_job);
    SHARDSCOPE_CHECK(m_job.poll());
    return out;
}

Status TagReader::list()
{
    if (m_listing)
        return {};
    SHARDSCOPE_TRY(auto entries, folderEntries(m_files, m_run.base));
    m_entries = std::make_shared<const std::vector<FolderEntry>>(std::move(entries));
    SHARDSCOPE_TRY(m_listing, listRun(m_files, m_run.base, m_run.numbered, m_job));
    return {};
}

Result<TagSummary> TagReader::summarize(const std::string& tag)
{
    const io::OutageWatch watch; // an older tag must not be taken because of one
    TagSummary out;
    out.tag = tag;
    out.folder = m_run.base / tag;
    out.tagFolder = out.folder;
    out.latest = tag == m_run.latest;
    auto checked = examined(tag, CheckDepth::Headers);
    if (!checked && checked.error().code == ErrorCode::Cancelled)
        return forward(std::move(checked).error());
    SHARDSCOPE_CHECK(watch.status());
    if (!checked) {
        out.error = std::move(checked).error();
        return out;
    }
    out.tagFolder = checked->folder;
    out.findings = std::move(checked->findings);
    describe(out);
    keepThoseOfTag(out.findings);
    SHARDSCOPE_CHECK(m_job.poll());
    SHARDSCOPE_CHECK(watch.status());
    return out;
}

void TagReader::describe(TagSummary& out)
{
    OpenOptions options;
    options.tag = out.tag;
    options.depth = OpenDepth::Structure;
    auto opened = openListed(m_files, *m_listing, options, m_job); // examined() has listed it
    if (!opened)
        out.error = std::move(opened).error();
    else
        addFacts(m_files, *opened->checkpoint, out);
}

Status TagReader::confirm(TagSummary& tag)
{
    const io::OutageWatch watch;
    auto checked = examined(tag.tag, CheckDepth::Metadata);
    if (!checked && checked.error().code == ErrorCode::Cancelled)
        return forward(std::move(checked).error());
    SHARDSCOPE_CHECK(watch.status());
    if (!checked) {
        tag.error = std::move(checked).error();
        return {};
    }
    tag.findings = std::move(checked->findings);
    keepThoseOfTag(tag.findings);
    tag.confirmed = true;
    return {};
}

Status TagReader::confirmNewest(std::vector<TagSummary>& tags)
{
    for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
        if (!tag->isComplete())
            continue;
        SHARDSCOPE_CHECK(confirm(*tag));
        if (tag->isComplete())
            break;
    }
    return {};
}

Result<std::vector<TagSummary>> TagReader::downToNewestComplete()
{
    std::vector<TagSummary> out;
    for (auto tag = m_run.names.rbegin(); tag != m_run.names.rend(); ++tag) {
        SHARDSCOPE_TRY(TagSummary summary, summarize(*tag));
        if (summary.isComplete())
            SHARDSCOPE_CHECK(confirm(summary));
        out.push_back(std::move(summary));
        if (out.back().isComplete())
            break;
    }
    std::reverse(out.begin(), out.end());
    return out;
}

} // namespace shardscope
