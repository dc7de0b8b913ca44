// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/run_list.h"

#include <algorithm>

namespace shardscope {

namespace {

Status readNewest(io::FileSystem& files, unsigned jobs, JobContext& job, RunSummary& out)
{
    TagReader reader(files, out.tags, jobs, job);
    const auto& names = out.tags.names;
    for (auto tag = names.rbegin(); tag != names.rend() && out.read.size() < kMostTagsOfRun; ++tag) {
        SHARDSCOPE_TRY(TagSummary summary, reader.summarize(*tag));
        out.read.push_back(std::move(summary));
        if (out.read.back().isComplete())
            break;
    }
    return {};
}

Status readRun(io::FileSystem& files, unsigned jobs, JobContext& job, RunSummary& out)
{
    auto tags = tagsOf(files, out.folder, job);
    if (tags) {
        out.tags = std::move(*tags);
        return readNewest(files, jobs, job, out);
    }
    if (tags.error().code != ErrorCode::NotFound)
        return forward(std::move(tags).error());
    auto untagged = summarizeUntagged(files, out.folder, jobs, job);
    if (!untagged && untagged.error().code == ErrorCode::Cancelled)
        return forward(std::move(untagged).error());
    if (!untagged || isUnknown(untagged->kind))
        return forward(std::move(tags).error());
    out.tags.base = out.folder;
    out.read.push_back(std::move(*untagged));
    return {};
}

} // namespace

const TagSummary* RunSummary::newestComplete() const
{
    return !read.empty() && read.back().isComplete() ? &read.back() : nullptr;
}

const TagSummary* RunSummary::shown() const
{
    if (read.empty())
        return nullptr;
    return read.back().isComplete() ? &read.back() : &read.front();
}

size_t RunSummary::unread() const
{
    return tags.names.size() - std::min(tags.names.size(), read.size());
}

size_t RunSummary::count(Severity severity) const
{
    size_t out = static_cast<size_t>(std::count_if(tags.findings.begin(), tags.findings.end(),
        [severity](const Finding& finding) { return finding.severity == severity; }));
    for (const TagSummary& tag : read)
        out += tag.count(severity);
    return out;
}

Result<RunSummary> summarizeRun(
    io::FileSystem& files, const RunsFolder& runs, const io::Path& folder, unsigned jobs, JobContext& job)
{
    RunSummary out;
    out.folder = folder;
    out.name = folder.lexically_relative(runs.path).string();
    if (auto done = readRun(files, jobs, job, out); !done) {
        if (done.error().code == ErrorCode::Cancelled)
            return forward(std::move(done).error());
        out.error = std::move(done).error();
        out.tags = {};
        out.read.clear();
    }
    SHARDSCOPE_CHECK(job.poll());
    return out;
}

} // namespace shardscope
