// SPDX-License-Identifier: Apache-2.0
#include "core/io/errno_error.h"
#include "core/io/posix_descriptor.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <system_error>

namespace shardscope::io {

namespace {

tl::unexpected<Error> readError(std::string what, const Path& path)
{
    return forward(errorFromErrno(errno, false, std::move(what), path));
}

tl::unexpected<Error> writeError(std::string what, const Path& path)
{
    return forward(errorFromErrno(errno, true, std::move(what), path));
}

class PosixLock final : public FileLock
{
public:
    explicit PosixLock(Descriptor descriptor)
        : m_descriptor(std::move(descriptor))
    {
    }

private:
    Descriptor m_descriptor;
};

/// A descriptor on a regular file. The type is checked before opening, because opening a device may have side
/// effects, and again afterwards, because the file may have been replaced in between.
Result<std::pair<Descriptor, FileIdentity>> openRegular(const Path& path)
{
    struct stat status {
    };
    if (::stat(path.c_str(), &status) != 0)
        return readError("cannot open the file", path);
    const auto refuse = [&] {
        return fail(ErrorCode::Unreadable,
            S_ISDIR(status.st_mode) ? "this is a folder, not a file" : "not a regular file", path.string());
    };
    if (!S_ISREG(status.st_mode))
        return refuse();
    Descriptor descriptor(
        retryInterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY); }));
    if (!descriptor.isOpen() || ::fstat(descriptor.get(), &status) != 0)
        return readError("cannot open the file", path);
    if (!S_ISREG(status.st_mode))
        return refuse();
    return std::pair(std::move(descriptor), identityOf(status));
}

Result<FileType> typeOfEntry(const Path& folder, const dirent& entry)
{
    switch (entry.d_type) {
    case DT_REG:
        return FileType::Regular;
    case DT_DIR:
        return FileType::Directory;
    case DT_LNK:
        return FileType::Symlink;
    case DT_UNKNOWN:
        break;
    default:
        return FileType::Other;
    }
    struct stat status {
    };
    const Path path = folder / static_cast<const char*>(entry.d_name);
    if (::lstat(path.c_str(), &status) != 0)
        return readError("cannot read the attributes of the entry", path);
    return typeOf(status.st_mode);
}

class PosixFileSystem final : public FileSystem
{
public:
    Result<std::unique_ptr<ReadFile>> openRead(const Path& path) override
    {
        SHARDSCOPE_TRY(auto opened, openRegular(path));
        return makePosixReadFile(std::move(opened.first), path, opened.second);
    }

    Result<std::unique_ptr<WriteFile>> create(const Path& path, uint32_t mode) override
    {
        return openWrite(path, O_EXCL, mode);
    }

    Result<std::unique_ptr<WriteFile>> openShared(const Path& path, uint32_t mode) override
    {
        return openWrite(path, 0, mode);
    }

    Status appendSynced(const Path& path, std::string_view text) override
    {
        constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
        Descriptor descriptor(retryInterrupted([&] { return ::open(path.c_str(), kFlags, 0644); }));
        if (!descriptor.isOpen())
            return writeError("cannot open the file to append to it", path);
        int error = writeFully(descriptor.get(), text);
        if (error == 0 && retryInterrupted([&] { return ::fdatasync(descriptor.get()); }) != 0)
            error = errno;
        const int closing = descriptor.close();
        if (error == 0)
            error = closing;
        if (error != 0)
            return forward(errorFromErrno(error, true, "cannot append to the file", path));
        return {};
    }

    Result<std::string> readSmall(const Path& path, uint64_t limitBytes) override
    {
        SHARDSCOPE_TRY(auto opened, openRegular(path));
        const uint64_t bytes = opened.second.bytes;
        if (bytes > limitBytes)
            return fail(ErrorCode::LimitExceeded,
                "the file has " + std::to_string(bytes) + " bytes, more than the "
                    + std::to_string(limitBytes) + " allowed for such a file",
                path.string());
        std::string out(bytes, '\0');
        const ssize_t count
            = readFully(opened.first.get(), 0, {reinterpret_cast<uint8_t*>(out.data()), out.size()});
        if (count < 0)
            return readError("cannot read the file", path);
        out.resize(static_cast<size_t>(count));
        return out;
    }

    Result<FileInfo> stat(const Path& path) override
    {
        struct stat status {
        };
        if (::stat(path.c_str(), &status) != 0)
            return readError("cannot read its attributes", path);
        return FileInfo{
            typeOf(status.st_mode), identityOf(status), static_cast<uint32_t>(status.st_mode & 07777)};
    }

    Result<std::vector<DirectoryEntry>> list(const Path& path) override
    {
        const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
        if (!folder)
            return readError("cannot list the folder", path);
        std::vector<DirectoryEntry> out;
        for (;;) {
            errno = 0;
            const dirent* entry = ::readdir(folder.get());
            if (!entry && errno != 0)
                return readError("cannot list the folder", path);
            if (!entry)
                break;
            std::string name = static_cast<const char*>(entry->d_name);
            if (name == "." || name == "..")
                continue;
            SHARDSCOPE_TRY(const FileType type, typeOfEntry(path, *entry));
            out.push_back({std::move(name), type});
        }
        std::ranges::sort(out, {}, &DirectoryEntry::name);
        return out;
    }

    Result<Path> canonical(const Path& path) override
    {
        std::error_code error;
        Path out = std::filesystem::canonical(path, error);
        if (error)
            return forward(errorFromErrno(error.value(), false, "cannot follow the path", path));
        return out;
    }

    Result<Space> space(const Path& path) override
    {
        struct statvfs status {
        };
        if (retryInterrupted([&] { return ::statvfs(path.c_str(), &status); }) != 0)
            return readError("cannot determine the free space", path);
        return Space{uint64_t{status.f_bavail} * uint64_t{status.f_frsize},
            status.f_files == 0 ? UINT64_MAX : uint64_t{status.f_favail}};
    }

    bool canShareBytes(const Path& file, const Path& folder) override
    {
        const Descriptor from(retryInterrupted(
            [&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
        // A file without a name, deleted when it is closed.
        const Descriptor to(
            retryInterrupted([&] { return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); }));
        return from.isOpen() && to.isOpen()
            && retryInterrupted([&] { return ::ioctl(to.get(), FICLONE, from.get()); }) == 0;
    }

    Status makeDirectory(const Path& path, uint32_t mode) override
    {
        return check(::mkdir(path.c_str(), static_cast<mode_t>(mode)), "cannot create the folder", path);
    }

    Status makeDirectories(const Path& path) override
    {
        std::error_code error;
        std::filesystem::create_directories(path, error);
        if (error)
            return forward(errorFromErrno(error.value(), true, "cannot create the folder", path));
        return {};
    }

    Status removeFile(const Path& path) override
    {
        return check(::remove(path.c_str()), "cannot remove the file", path);
    }

    Status removeTree(const Path& path) override
    {
        std::error_code error;
        std::filesystem::remove_all(path, error);
        if (error)
            return forward(errorFromErrno(error.value(), true, "cannot remove the folder", path));
        return {};
    }

    Status rename(const Path& from, const Path& to) override
    {
        return check(::rename(from.c_str(), to.c_str()), "cannot rename " + from.filename().string(), to);
    }

    Status renameNoReplace(const Path& from, const Path& to) override
    {
        const std::string what = "cannot rename " + from.filename().string();
        if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
            return {};
        if (errno != EINVAL && errno != ENOSYS)
            return writeError(what, to);
        // Some network file systems do not support the flag: check first. A non-empty folder is never
        // replaced.
        struct stat status {
        };
        if (::lstat(to.c_str(), &status) == 0)
            errno = EEXIST;
        if (errno != ENOENT)
            return writeError(what, to);
        return rename(from, to);
    }

    Status exchange(const Path& a, const Path& b) override
    {
        if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0)
            return {};
        if (errno == EINVAL || errno == ENOSYS)
            return fail(ErrorCode::WriteFailed, "this file system cannot swap two folders in one step",
                b.string(), "remove the existing target yourself, or write to another folder");
        return writeError("cannot replace the old folder with the new one", b);
    }

    Status syncDirectory(const Path& path) override
    {
        const Descriptor descriptor(
            retryInterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
        if (!descriptor.isOpen())
            return writeError("cannot open the folder", path);
        // EINVAL: the file system has no such call for folders; its renames are durable by themselves or not
        // at all.
        if (retryInterrupted([&] { return ::fsync(descriptor.get()); }) != 0 && errno != EINVAL)
            return writeError("cannot sync the folder to the disk", path);
        return {};
    }

    Status setMode(const Path& path, uint32_t mode) override
    {
        return check(::chmod(path.c_str(), static_cast<mode_t>(mode)), "cannot set the permissions", path);
    }

    Result<std::unique_ptr<FileLock>> lock(const Path& path, LockKind kind) override
    {
        const int operation = (kind == LockKind::Shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
        constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
        for (;;) {
            Descriptor descriptor(retryInterrupted([&] { return ::open(path.c_str(), kFlags, 0666); }));
            if (!descriptor.isOpen())
                return writeError("cannot open the lock", path);
            if (retryInterrupted([&] { return ::flock(descriptor.get(), operation); }) != 0) {
                if (errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK)
                    return std::unique_ptr<FileLock>();
                if (errno == EWOULDBLOCK)
                    return fail(ErrorCode::Busy, "another process is working on this target", path.string(),
                        "wait until it ends");
                return writeError("cannot take the lock", path);
            }
            // The previous holder may have removed the file between our open and our lock: then the lock has
            // no effect.
            struct stat held {
            };
            struct stat named {
            };
            if (::fstat(descriptor.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0
                && held.st_ino == named.st_ino && held.st_dev == named.st_dev)
                return std::unique_ptr<FileLock>(std::make_unique<PosixLock>(std::move(descriptor)));
        }
    }

private:
    static Result<std::unique_ptr<WriteFile>> openWrite(const Path& path, int flags, uint32_t mode)
    {
        flags |= O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
        Descriptor descriptor(
            retryInterrupted([&] { return ::open(path.c_str(), flags, static_cast<mode_t>(mode)); }));
        if (!descriptor.isOpen())
            return writeError("cannot create the file", path);
        return makePosixWriteFile(std::move(descriptor), path);
    }

    static Status check(int result, std::string what, const Path& path)
    {
        if (result != 0)
            return writeError(std::move(what), path);
        return {};
    }
};

} // namespace

FileIdentity identityOf(const struct stat& status)
{
    constexpr int64_t kBillion = 1'000'000'000;
    return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
        status.st_mtim.tv_sec * kBillion + status.st_mtim.tv_nsec,
        status.st_ctim.tv_sec * kBillion + status.st_ctim.tv_nsec};
}

FileType typeOf(mode_t mode)
{
    if (S_ISREG(mode))
        return FileType::Regular;
    if (S_ISDIR(mode))
        return FileType::Directory;
    return S_ISLNK(mode) ? FileType::Symlink : FileType::Other;
}

FileSystem& realFileSystem()
{
    static PosixFileSystem instance;
    return instance;
}

} // namespace shardscope::io
