// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/split_folders.h"

#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/open/open.h"
#include "core/doctor/check_context.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace shardscope {

namespace {

constexpr size_t kMostFolders = 64; ///< that are opened; those beside the tag come first
constexpr std::string_view kIn = "in "; ///< before a folder, in a line of evidence

std::vector<std::string> missingFiles(const Checkpoint& checkpoint)
{
    std::vector<std::string> out;
    for (const CheckpointFile& file : checkpoint.files) {
        if (file.status == FileStatus::Missing)
            out.push_back(file.name);
    }
    return out;
}

/// Folders that the checkpoint was opened from beside its tag's.
std::vector<io::Path> rootsOf(const Checkpoint& checkpoint)
{
    std::vector<io::Path> out;
    for (const CheckpointFile& file : checkpoint.files) {
        const io::Path folder = file.path.parent_path();
        if (file.status != FileStatus::Missing && file.role == FileRole::OptimStates
            && folder != checkpoint.tagFolder && std::find(out.begin(), out.end(), folder) == out.end())
            out.push_back(folder);
    }
    return out;
}

Result<bool> isThere(io::FileSystem& files, const io::Path& path)
{
    const auto info = files.stat(path);
    if (!info && info.error().code != ErrorCode::NotFound)
        return forward(info.error());
    return info.has_value();
}

/// The first folder that cannot be listed is kept in `notRead`.
std::vector<io::Path> candidates(
    io::FileSystem& files, const Checkpoint& checkpoint, std::optional<Error>& notRead)
{
    std::vector<io::Path> out;
    const auto addBelow = [&](const io::Path& folder, const std::string& inside) {
        const auto entries = folderEntries(files, folder);
        if (!entries) {
            notRead = notRead.value_or(entries.error());
            return;
        }
        for (const FolderEntry& entry : *entries) {
            const io::Path path = inside.empty() ? folder / entry.name : folder / entry.name / inside;
            if (entry.isFolder && path != checkpoint.tagFolder)
                out.push_back(path);
        }
    };
    addBelow(checkpoint.runFolder, {});
    addBelow(checkpoint.runFolder.parent_path(), checkpoint.tag);
    return out;
}

/// Joins folders with a checkpoint, as long as less is missing then.
class Joining
{
public:
    Joining(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job)
        : m_files(files)
        , m_checkpoint(checkpoint)
        , m_job(job)
    {
        m_out.missing = missingFiles(checkpoint);
        m_out.left = m_out.missing;
        m_options.tag = checkpoint.tag;
        m_options.roots = rootsOf(checkpoint);
        for (const CheckpointFile& file : checkpoint.files) {
            if (file.status != FileStatus::Missing && file.role == FileRole::OptimStates)
                m_there.insert(file.name);
        }
    }

    Result<SplitFolders> run()
    {
        std::vector<io::Path> mayHold;
        for (const io::Path& folder : candidates(m_files, m_checkpoint, m_out.notRead)) {
            if (mayHold.size() >= kMostFolders)
                break;
            const auto more = holdsMore(folder);
            if (!more)
                m_out.notRead = m_out.notRead.value_or(more.error());
            else if (*more)
                mayHold.push_back(folder);
        }
        for (const io::Path& folder : mayHold) {
            const bool holdsOne = std::any_of(m_out.left.begin(), m_out.left.end(),
                [&](const std::string& name) { return m_files.stat(folder / name).has_value(); });
            if (holdsOne)
                SHARDSCOPE_CHECK(join({folder}));
        }
        // Where all files of a slice or stage are elsewhere, nothing tells their names.
        if (!m_out.whole && mayHold.size() > 1 && (!m_out.missing.empty() || m_checkpoint.modelError)) {
            std::vector<io::Path> rest;
            for (const io::Path& folder : mayHold) {
                if (std::find(m_out.folders.begin(), m_out.folders.end(), folder) == m_out.folders.end())
                    rest.push_back(folder);
            }
            SHARDSCOPE_CHECK(join(rest));
        }
        return m_out;
    }

private:
    /// State files that the checkpoint does not have, and no optimizer file that it has: another tag, another
    /// run or a copy has those, too. What this program wrote is a checkpoint of its own, in which values may
    /// be made up.
    [[nodiscard]] Result<bool> holdsMore(const io::Path& folder) const
    {
        if (!m_there.empty()) { // rules out most of them without a list of their files
            SHARDSCOPE_TRY(const bool hasSame, isThere(m_files, folder / *m_there.begin()));
            if (hasSame)
                return false;
        }
        SHARDSCOPE_TRY(const bool hasManifest, isThere(m_files, folder / kManifestName));
        if (hasManifest)
            return false;
        bool more = false;
        SHARDSCOPE_TRY(const std::vector<FolderEntry> entries, folderEntries(m_files, folder));
        for (const FolderEntry& entry : entries) {
            if (m_there.contains(entry.name))
                return false;
            more = more || entry.parsed;
        }
        return more;
    }

    Status join(const std::vector<io::Path>& folders)
    {
        OpenOptions more = m_options;
        more.roots.insert(more.roots.end(), folders.begin(), folders.end());
        const auto joined = openCheckpoint(m_files, m_checkpoint.tagFolder, more, m_job);
        SHARDSCOPE_CHECK(m_job.poll());
        if (!joined || joined->checkpoint->modelError)
            return {};
        const Checkpoint& both = *joined->checkpoint;
        const auto giving = foldersThatGive(both, folders);
        if (giving.empty() || !isSameSave(both))
            return {};
        const auto left = missingFiles(both);
        // Where nothing is missing and something is wrong, the files there are of another step or run.
        const bool isBetter = both.complete || (left.size() < m_out.left.size() && !left.empty());
        if (!isBetter)
            return {};
        m_options.roots.insert(m_options.roots.end(), giving.begin(), giving.end());
        m_out.folders.insert(m_out.folders.end(), giving.begin(), giving.end());
        m_out.left = left;
        m_out.whole = both.complete;
        return {};
    }

    /// Those of `folders` that hold a file which counts.
    static std::vector<io::Path> foldersThatGive(const Checkpoint& both, const std::vector<io::Path>& folders)
    {
        std::vector<io::Path> out;
        std::copy_if(folders.begin(), folders.end(), std::back_inserter(out), [&](const io::Path& folder) {
            return std::any_of(both.files.begin(), both.files.end(), [&](const CheckpointFile& file) {
                return file.status == FileStatus::Ok && file.path.parent_path() == folder;
            });
        });
        return out;
    }

    /// Whether all that counts in the checkpoint still does: files of another run may be more, and make one
    /// of their own.
    [[nodiscard]] bool isSameSave(const Checkpoint& both) const
    {
        const bool hadModel = !m_checkpoint.modelError;
        if (hadModel && (both.kind != m_checkpoint.kind || both.parallel.dp != m_checkpoint.parallel.dp))
            return false;
        std::set<io::Path> counting;
        for (const CheckpointFile& file : both.files) {
            if (file.status == FileStatus::Ok)
                counting.insert(file.path);
        }
        return std::all_of(m_checkpoint.files.begin(), m_checkpoint.files.end(), [&](const auto& file) {
            return file.status != FileStatus::Ok || !parseCheckpointFileName(file.name)
                || counting.contains(file.path);
        });
    }

    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    JobContext& m_job;
    OpenOptions m_options;
    SplitFolders m_out;
    std::set<std::string> m_there; ///< its optimizer files
};

} // namespace

Result<SplitFolders> findSplitFolders(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job)
{
    return checkpoint.complete ? SplitFolders() : Joining(files, checkpoint, job).run();
}

std::vector<std::string> evidenceOf(const std::vector<io::Path>& folders)
{
    std::vector<std::string> out;
    for (const io::Path& folder : folders)
        out.push_back(std::string(kIn) + folder.string());
    return out;
}

std::vector<io::Path> foldersIn(const Finding& finding)
{
    std::vector<io::Path> out;
    for (const std::string& line : finding.evidence) {
        if (line.starts_with(kIn))
            out.emplace_back(line.substr(kIn.size()));
    }
    return out;
}

} // namespace shardscope
