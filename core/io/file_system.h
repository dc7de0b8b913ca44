// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/io: files and folders behind one interface, and checksums of their bytes; other rooms reach the
// files of a checkpoint only through it. Start with FileSystem.

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardscope::io {

using Path = std::filesystem::path;

/// Addresses and offsets of direct I/O: a page, which every block device's sector divides.
inline constexpr uint64_t kDirectAlignment = 4096;

enum class FileType { Regular, Directory, Symlink, Other };

/// Identifies a file and its version, to detect changes. Times are nanoseconds since the epoch.
struct FileIdentity {
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t bytes = 0;
    int64_t modifiedNs = 0;
    int64_t changedNs = 0;

    bool operator==(const FileIdentity&) const = default;
};

struct FileInfo {
    FileType type = FileType::Other;
    FileIdentity identity;
    uint32_t mode = 0; ///< permission bits
};

struct DirectoryEntry {
    std::string name; ///< raw bytes, no path
    FileType type = FileType::Other; ///< of the entry itself: links are not followed
};

/// An open file read by position. Thread-safe: positions are arguments.
class ReadFile
{
public:
    virtual ~ReadFile() = default;
    ReadFile() = default;
    ReadFile(const ReadFile&) = delete;
    ReadFile& operator=(const ReadFile&) = delete;

    /// Size in bytes when it was opened.
    [[nodiscard]] virtual uint64_t size() const = 0;
    [[nodiscard]] virtual const Path& path() const = 0;
    [[nodiscard]] virtual const FileIdentity& identity() const = 0;
    /// Fills `out` whole from `offset` or fails: Damaged past the end, Unreadable on an I/O error, with the
    /// range named.
    virtual Status readAt(uint64_t offset, std::span<uint8_t> out) const = 0;
    /// As readAt(), but from the device: by direct I/O where the file system has it, for the blocks that
    /// `out` covers at an aligned address (kDirectAlignment, as is `offset`); the rest is dropped from the
    /// page cache before it is read, which has no effect on data that was not yet written back.
    virtual Status readFromDevice(uint64_t offset, std::span<uint8_t> out) const
    {
        dropCache(offset, out.size());
        return readAt(offset, out);
    }
    /// Whether readFromDevice() uses direct I/O.
    [[nodiscard]] virtual bool readsDirectly() const { return false; }
    /// How many bytes from `offset` on can be read without a further request; readers that read ahead stop
    /// there. UINT64_MAX where it makes no difference.
    [[nodiscard]] virtual uint64_t readyBytes(uint64_t /*offset*/) const { return UINT64_MAX; }
    /// Asks the kernel to read this range into its page cache while the caller goes on. A hint only.
    virtual void readAhead(uint64_t /*offset*/, uint64_t /*bytes*/) const { }
    /// Informs the kernel that this range will not be read again. A hint only.
    virtual void dropCache(uint64_t offset, uint64_t bytes) const = 0;
    /// SourceChanged when the file on disk is no longer the one that was opened.
    virtual Status checkUnchanged() const = 0;
};

/// A file written by position: a new one (create()), or one that several processes write (openShared()).
class WriteFile
{
public:
    virtual ~WriteFile() = default;
    WriteFile() = default;
    WriteFile(const WriteFile&) = delete;
    WriteFile& operator=(const WriteFile&) = delete;

    [[nodiscard]] virtual const Path& path() const = 0;
    /// Reserves space; NoSpace when there is none. File systems without support succeed.
    virtual Status allocate(uint64_t bytes) = 0;
    /// Makes the new, empty file share all bytes of another one, copied only when either is written to
    /// (FICLONE). False, and nothing done, where the file system cannot.
    virtual bool shareBytesOf(const ReadFile& from) = 0;
    /// With direct I/O for the blocks that `bytes` covers, if that was asked for, and if `offset` and the
    /// address are aligned.
    virtual Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) = 0;
    /// Asks for direct I/O; whether the file system has it. If it refuses it later, writing goes on through
    /// the page cache.
    virtual bool writeDirectly() = 0;
    /// Whether everything was written by direct I/O so far, so that the device has it.
    [[nodiscard]] virtual bool isDirect() const = 0;
    /// Starts write-back of a range and waits for the range that was started before it, so that dirty bytes
    /// stay bounded at two ranges. A failure means the same as one of sync().
    virtual Status startWriteBack(uint64_t offset, uint64_t bytes) = 0;
    /// fdatasync. After a failure the file counts as lost: it must be closed and removed, never synced again.
    virtual Status sync() = 0;
    /// Closes and reports what closing reports. The destructor closes silently.
    virtual Status close() = 0;
};

enum class LockKind { Exclusive, Shared };

/// Holds a lock until it is destroyed; the kernel frees it when the process dies.
class FileLock
{
public:
    virtual ~FileLock() = default;
};

/// One of several reads (FileSystem::readAll): all of `out`, from `offset` of the file.
struct ReadRange {
    const ReadFile* file = nullptr;
    uint64_t offset = 0;
    std::span<uint8_t> out;
};

struct Space {
    uint64_t freeBytes = 0; ///< for this user
    uint64_t freeFiles = 0; ///< inodes; UINT64_MAX where the file system has no limit
};

/// The only interface for file access. Its calls are few and large, so that a remote implementation is
/// possible.
///
/// Thread-safe. Every error names the path. Write calls map errno: ENOSPC/EDQUOT → NoSpace,
/// EACCES/EPERM/EROFS → NoPermission, EEXIST → TargetExists, else WriteFailed; read calls → NotFound or
/// Unreadable.
class FileSystem
{
public:
    virtual ~FileSystem() = default;

    /// A regular file only (links are followed; FIFOs, devices and directories are refused without blocking).
    virtual Result<std::unique_ptr<ReadFile>> openRead(const Path& path) = 0;
    /// Never overwrites: TargetExists if something is there.
    virtual Result<std::unique_ptr<WriteFile>> create(const Path& path, uint32_t mode = 0644) = 0;
    /// For a file of which several processes write one range each, at the same time: keeps what is there;
    /// creates the file if it is absent.
    virtual Result<std::unique_ptr<WriteFile>> openShared(const Path& path, uint32_t mode = 0644) = 0;
    /// Appends to an existing or new file, for the journal: data is on disk when it returns.
    virtual Status appendSynced(const Path& path, std::string_view text) = 0;
    /// A whole small file; LimitExceeded above `limitBytes`.
    virtual Result<std::string> readSmall(const Path& path, uint64_t limitBytes) = 0;

    /// The same calls for many files or ranges at once, so that the time that each waits for a far file
    /// system passes once. Results are in the order of the arguments. Here each is a single call, and many of
    /// them are under way at a time where they wait.
    using Opened = Result<std::unique_ptr<ReadFile>>;
    virtual std::vector<Opened> openReadAll(std::span<const Path> paths);
    virtual std::vector<Result<FileInfo>> statAll(std::span<const Path> paths);
    virtual std::vector<Status> readAll(std::span<const ReadRange> ranges);
    virtual std::vector<Status> checkAllUnchanged(std::span<const ReadFile* const> files);

    /// Follows links. NotFound when there is nothing.
    virtual Result<FileInfo> stat(const Path& path) = 0;
    /// Names in byte order, without "." and "..".
    virtual Result<std::vector<DirectoryEntry>> list(const Path& path) = 0;
    virtual Result<Path> canonical(const Path& path) = 0;
    virtual Result<Space> space(const Path& path) = 0;
    /// Whether a new file in `folder` could share the bytes of a file (WriteFile::shareBytesOf). Leaves
    /// nothing behind; false where it cannot be determined.
    virtual bool canShareBytes(const Path& file, const Path& folder) = 0;
    /// Seconds for which a limit on bytes a second has held calls back so far, summed over all threads.
    [[nodiscard]] virtual double secondsHeldBack() const { return 0; }

    virtual Status makeDirectory(const Path& path, uint32_t mode = 0755) = 0; ///< parent must exist
    virtual Status makeDirectories(const Path& path) = 0;
    virtual Status removeFile(const Path& path) = 0; ///< or an empty folder
    /// Removes a folder and everything below; links are removed, not followed. Success when it does not
    /// exist.
    virtual Status removeTree(const Path& path) = 0;
    virtual Status rename(const Path& from, const Path& to) = 0; ///< replaces a file at `to`
    virtual Status renameNoReplace(const Path& from, const Path& to) = 0; ///< TargetExists when `to` is there
    virtual Status exchange(const Path& a, const Path& b) = 0; ///< RENAME_EXCHANGE
    virtual Status syncDirectory(const Path& path) = 0;
    virtual Status setMode(const Path& path, uint32_t mode) = 0;
    /// Busy when another process holds it, for a shared lock: exclusively. Creates the file. Null where the
    /// file system has no such locks.
    virtual Result<std::unique_ptr<FileLock>> lock(const Path& path, LockKind kind = LockKind::Exclusive) = 0;
};

/// The machine's own files. One instance for the process; thread-safe.
FileSystem& realFileSystem();

} // namespace shardscope::io
