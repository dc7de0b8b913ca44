// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "core/torchfile/skeleton/skeleton_index.h"
#include "core/torchfile/zip/zip_directory.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The error of every read of a value.
inline constexpr std::string_view kNoValues = "this is a skeleton: it holds no values";

/// One skeleton, read and checked, as a tree of folders and files. Paths are relative to it.
///
/// Its origin is not trusted: sizes, paths and extents are checked before anything believes them, and a
/// file's bytes are unpacked, against a limit and their checksum, only when it is opened. Immutable but for a
/// cache; thread-safe.
class SkeletonArchive : public std::enable_shared_from_this<SkeletonArchive>
{
public:
    /// Whether the file begins as one that this program writes does. False for what cannot be read.
    static bool isOne(io::FileSystem& files, const io::Path& path);
    /// Damaged, Hostile, LimitExceeded, Unsupported or Unreadable, about `path`.
    static Result<std::shared_ptr<SkeletonArchive>> read(io::FileSystem& files, const io::Path& path);

    [[nodiscard]] const SkeletonIndex& index() const { return m_index; }
    [[nodiscard]] const io::FileIdentity& identity() const { return m_file->identity(); }

    /// NotFound where there is nothing. "" is the whole.
    [[nodiscard]] Result<io::FileInfo> stat(const std::string& path) const;
    [[nodiscard]] Result<std::vector<io::DirectoryEntry>> list(const std::string& path) const;
    /// A file of its original size. Kept bytes are read unchanged. A range without kept bytes is Unsupported
    /// (kNoValues). Bytes between kept bytes read as zeros, because headers are read in windows that also
    /// cover their payload.
    Result<std::unique_ptr<io::ReadFile>> openRead(const std::string& path, const io::Path& shown);
    /// Reads and checks all kept bytes.
    Status verify();

private:
    void buildTree();
    Result<std::shared_ptr<const std::string>> bytesOf(size_t file);

    io::Path m_path;
    std::shared_ptr<const io::ReadFile> m_file;
    ZipDirectory m_zip;
    SkeletonIndex m_index;
    std::map<std::string, std::vector<io::DirectoryEntry>, std::less<>> m_folders;
    std::map<std::string, size_t, std::less<>> m_files;
    std::mutex m_mutex;
    std::map<size_t, std::weak_ptr<const std::string>> m_open; ///< bytes of files that are open
};

} // namespace shardscope
