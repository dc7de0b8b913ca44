// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/torchfile/skeleton: reads skeletons, so that all rooms see them as ordinary folders whose
// values cannot be read; core/engine/skeleton writes them. Start with SkeletonFiles.

#include "core/io/forwarding_file_system.h"
#include "core/torchfile/skeleton/skeleton_archive.h"

#include <memory>
#include <mutex>
#include <optional>

namespace shardscope {

/// A FileSystem in which a skeleton (a file whose name ends in .zip) is a folder that cannot be written to;
/// everything else is `inner`'s. The skeleton's own path leads to the path that it was made for, like a
/// symbolic link (canonical()).
///
/// For a file that begins like a skeleton but cannot be read as one, every call fails. Thread-safe. Opened
/// skeletons stay in memory (index and tree).
class SkeletonFiles final : public io::ForwardingFileSystem
{
public:
    explicit SkeletonFiles(io::FileSystem& inner)
        : io::ForwardingFileSystem(inner)
    {
    }

    using io::ForwardingFileSystem::inner;
    /// Whether `path` is a skeleton or is in one.
    [[nodiscard]] bool isInSkeleton(const io::Path& path);

    Result<std::unique_ptr<io::ReadFile>> openRead(const io::Path& path) override;
    Result<std::string> readSmall(const io::Path& path, uint64_t limitBytes) override;
    std::vector<Opened> openReadAll(std::span<const io::Path> paths) override;
    std::vector<Result<io::FileInfo>> statAll(std::span<const io::Path> paths) override;
    std::vector<Status> readAll(std::span<const io::ReadRange> ranges) override;
    std::vector<Status> checkAllUnchanged(std::span<const io::ReadFile* const> files) override;
    Result<io::FileInfo> stat(const io::Path& path) override;
    Result<std::vector<io::DirectoryEntry>> list(const io::Path& path) override;
    Result<io::Path> canonical(const io::Path& path) override;
    Result<io::Space> space(const io::Path& path) override;
    bool canShareBytes(const io::Path& file, const io::Path& folder) override;

private:
    /// A place in a skeleton.
    struct Place {
        std::shared_ptr<SkeletonArchive> archive;
        io::Path file; ///< the skeleton's own path, as given
        std::string path; ///< inside; empty for the whole
    };
    /// Nothing for places outside of skeletons.
    Result<std::optional<Place>> placeOf(const io::Path& path);
    Result<std::shared_ptr<SkeletonArchive>> archiveAt(const io::Path& path);
    /// Whether one of the paths may be in a skeleton, by its name alone.
    static bool mayHoldSkeleton(std::span<const io::Path> paths);
    /// NoPermission for places inside of one: the skeleton itself is a file like others.
    Status beforeWrite(const io::Path& path, const io::Path* further) override;

    std::mutex m_mutex;
    std::map<std::string, std::shared_ptr<SkeletonArchive>> m_archives; ///< by path
};

/// The machine's own files, with skeletons as folders. One instance for the process; thread-safe.
io::FileSystem& realFilesAndSkeletons();

/// The same without skeletons, where `files` has them.
io::FileSystem& withoutSkeletons(io::FileSystem& files);

/// Whether `path` is in a skeleton: then its values cannot be read, and are not reported as missing.
[[nodiscard]] bool holdsNoValues(io::FileSystem& files, const io::Path& path);

} // namespace shardscope
