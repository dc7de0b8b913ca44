// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/run_search.h"

#include "core/base/text.h"
#include "core/checkpoint/folder/folder_content.h"
#include "core/checkpoint/model/file_names.h"

#include <algorithm>
#include <utility>

namespace shardscope {

namespace {

constexpr size_t kMaxLevels = 4;
constexpr size_t kMaxListed = 2000; ///< folders
constexpr size_t kMaxRuns = 200;
constexpr size_t kMaxNamed = 8; ///< in the message
/// Of a folder that is looked into for tags. One with more is no run unless a file says so.
constexpr size_t kMaxSubFolders = 1000;

/// Sub-folders that may hold a run, in the order of their names. Work folders and hidden ones do not.
std::vector<std::string> subFolders(const std::vector<io::DirectoryEntry>& entries)
{
    std::vector<std::string> out;
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.type == io::FileType::Directory && !entry.name.starts_with(".")
            && entry.name != "lost+found")
            out.push_back(entry.name);
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return tagLess(a, b); });
    return out;
}

bool isRunFolder(io::FileSystem& files, const Folder& folder)
{
    if (subFolders(folder.entries).size() <= kMaxSubFolders)
        return holdsCheckpoint(files, folder);
    return folder.isTagFolder() || folder.has("latest") || folder.has(kUniversalPointer);
}

/// DeepSpeed's files are not among them: they have an ending.
void noteLinks(
    const io::Path& folder, const std::vector<io::DirectoryEntry>& entries, std::vector<std::string>& links)
{
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.type == io::FileType::Symlink && !entry.name.starts_with(".")
            && io::Path(entry.name).extension().empty() && links.size() < kMaxRuns)
            links.push_back((folder / entry.name).string());
    }
}

} // namespace

Result<FoundRuns> findRunsBelow(
    io::FileSystem& files, const io::Path& folder, const IsRun& isRun, JobContext& job)
{
    FoundRuns out;
    std::vector<io::Path> level{folder};
    size_t listed = 0;
    for (size_t depth = 0; depth <= kMaxLevels && !level.empty(); ++depth) {
        std::vector<io::Path> next;
        for (const io::Path& at : level) {
            SHARDSCOPE_CHECK(job.poll());
            if (++listed > kMaxListed || out.paths.size() >= kMaxRuns) {
                out.more = true;
                break;
            }
            const auto entries = files.list(at);
            if (!entries) {
                out.more = true;
                if (entries.error().code != ErrorCode::NotFound && out.unreadable.size() < kMaxRuns)
                    out.unreadable.push_back(entries.error());
                continue;
            }
            if (depth > 0 && isRun(at, *entries)) {
                out.paths.push_back(at.string());
                continue;
            }
            noteLinks(at, *entries, out.links);
            for (const std::string& name : subFolders(*entries))
                next.push_back(at / name);
        }
        out.more = out.more || (depth == kMaxLevels && !next.empty());
        level = std::move(next);
    }
    std::sort(out.paths.begin(), out.paths.end());
    return out;
}

Result<FoundRuns> runsBelow(io::FileSystem& files, const io::Path& folder, JobContext& job)
{
    bool passedOver = false;
    const IsRun isRun = [&](const io::Path& path, const std::vector<io::DirectoryEntry>& entries) {
        passedOver = passedOver || subFolders(entries).size() > kMaxSubFolders;
        return isRunFolder(files, {path, entries});
    };
    SHARDSCOPE_TRY(FoundRuns out, findRunsBelow(files, folder, isRun, job));
    out.more = out.more || passedOver;
    return out;
}

Result<RunsFolder> runsInsteadOf(
    io::FileSystem& files, const io::Path& path, const Error& why, JobContext& job)
{
    RunsFolder out;
    if (why.code != ErrorCode::NotACheckpoint && why.code != ErrorCode::Unreadable)
        return out;
    const auto folder = files.canonical(path);
    const auto info = folder ? files.stat(*folder) : Result<io::FileInfo>(io::FileInfo{});
    if (!folder || !info || info->type != io::FileType::Directory)
        return out;
    out.path = *folder;
    const auto listed = listFolder(files, *folder);
    if (!listed || isRunFolder(files, *listed)) // its tags are no runs
        return out;
    SHARDSCOPE_TRY(out.found, runsBelow(files, *folder, job));
    return out;
}

Error errorWithRuns(ErrorCode code, const std::string& what, const io::Path& folder, const FoundRuns& runs)
{
    std::string names;
    for (size_t i = 0; i < runs.paths.size() && i < kMaxNamed; ++i)
        names += (i == 0 ? "`" : ", `")
            + toValidUtf8(io::Path(runs.paths[i]).lexically_relative(folder).string()) + "`";
    if (runs.paths.size() > kMaxNamed)
        names += " and " + std::to_string(runs.paths.size() - kMaxNamed) + " more";
    return {code, what + ": " + names, folder.string(),
        runs.more ? "give one of them; not all folders below were searched" : "give one of them"};
}

} // namespace shardscope
