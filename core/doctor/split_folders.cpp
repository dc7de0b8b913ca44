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

constexpr size_t kMaxFolders = 64; ///< to open; those next to the tag come first

std::vector<std::string> missingFiles(const Checkpoint& checkpoint)
{
    std::vector<std::string> out;
    for (const CheckpointFile& file : checkpoint.files) {
        if (file.status == FileStatus::Missing)
            out.push_back(file.name);
    }
    return out;
}

/// Folders besides the tag's that the checkpoint was opened from.
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

/// Sets `notRead` to the error of the first folder that cannot be listed.
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

/// Adds folders to a checkpoint while this reduces the missing files.
class FolderMerge
{
public:
    FolderMerge(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job)
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
            if (mayHold.size() >= kMaxFolders)
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
                SHARDSCOPE_CHECK(tryMerge({folder}));
        }
        // If all files of a slice or stage are elsewhere, their names are not known.
        if (!m_out.whole && mayHold.size() > 1 && (!m_out.missing.empty() || m_checkpoint.modelError)) {
            std::vector<io::Path> rest;
            for (const io::Path& folder : mayHold) {
                if (std::find(m_out.folders.begin(), m_out.folders.end(), folder) == m_out.folders.end())
                    rest.push_back(folder);
            }
            SHARDSCOPE_CHECK(tryMerge(rest));
        }
        return m_out;
    }

private:
    /// Whether the folder has state files that the checkpoint does not have, and none of its optimizer files:
    /// another tag, another run or a copy has those too. Output of this program is a separate checkpoint, and
    /// may have reconstructed values.
    [[nodiscard]] Result<bool> holdsMore(const io::Path& folder) const
    {
        if (!m_there.empty()) { // excludes most folders without listing their files
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

    Status tryMerge(const std::vector<io::Path>& folders)
    {
        OpenOptions more = m_options;
        more.roots.insert(more.roots.end(), folders.begin(), folders.end());
        const auto opened = openCheckpoint(m_files, m_checkpoint.tagFolder, more, m_job);
        SHARDSCOPE_CHECK(m_job.poll());
        if (!opened || opened->checkpoint->modelError)
            return {};
        const Checkpoint& both = *opened->checkpoint;
        const auto used = foldersInUse(both, folders);
        if (used.empty() || !isSameSave(both))
            return {};
        const auto left = missingFiles(both);
        // If nothing is missing but something is wrong, the files are from another step or run.
        const bool isBetter = both.complete || (left.size() < m_out.left.size() && !left.empty());
        if (!isBetter)
            return {};
        m_options.roots.insert(m_options.roots.end(), used.begin(), used.end());
        m_out.folders.insert(m_out.folders.end(), used.begin(), used.end());
        m_out.left = left;
        m_out.whole = both.complete;
        return {};
    }

    /// Those of `folders` with a file that the opened checkpoint uses.
    static std::vector<io::Path> foldersInUse(const Checkpoint& both, const std::vector<io::Path>& folders)
    {
        std::vector<io::Path> out;
        std::copy_if(folders.begin(), folders.end(), std::back_inserter(out), [&](const io::Path& folder) {
            return std::any_of(both.files.begin(), both.files.end(), [&](const CheckpointFile& file) {
                return file.status == FileStatus::Ok && file.path.parent_path() == folder;
            });
        });
        return out;
    }

    /// Whether the merged checkpoint still uses all files of the original: the files of another run can form
    /// their own checkpoint.
    [[nodiscard]] bool isSameSave(const Checkpoint& both) const
    {
        const bool hadModel = !m_checkpoint.modelError;
        if (hadModel && (both.kind != m_checkpoint.kind || both.parallel.dp != m_checkpoint.parallel.dp))
            return false;
        std::set<io::Path> inUse;
        for (const CheckpointFile& file : both.files) {
            if (file.status == FileStatus::Ok)
                inUse.insert(file.path);
        }
        return std::all_of(m_checkpoint.files.begin(), m_checkpoint.files.end(), [&](const auto& file) {
            return file.status != FileStatus::Ok || !parseCheckpointFileName(file.name)
                || inUse.contains(file.path);
        });
    }

    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    JobContext& m_job;
    OpenOptions m_options;
    SplitFolders m_out;
    std::set<std::string> m_there; ///< optimizer files of the checkpoint
};

} // namespace

Result<SplitFolders> findSplitFolders(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job)
{
    return checkpoint.complete ? SplitFolders() : FolderMerge(files, checkpoint, job).run();
}

} // namespace shardscope
