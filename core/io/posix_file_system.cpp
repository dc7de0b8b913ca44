// SPDX-License-Identifier: Apache-2.0
#include "core/io/errno_error.h"
#include "core/io/posix_folders.h"

#include <dirent.h>
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

bool isSameFile(const PosixPlace& one, const PosixPlace& other)
{
    struct stat a {
    };
    struct stat b {
    };
    return ::fstatat(one.folder(), one.entry(), &a, AT_SYMLINK_NOFOLLOW) == 0
        && ::fstatat(other.folder(), other.entry(), &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev
        && a.st_ino == b.st_ino;
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

FileType typeOfEntry(const dirent& entry)
{
    switch (entry.d_type) {
    case DT_REG:
        return FileType::Regular;
    case DT_DIR:
        return FileType::Directory;
    case DT_LNK:
        return FileType::Symlink;
    default:
        return FileType::Other;
    }
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
        SHARDSCOPE_TRY(auto descriptor, openToWrite(path, {O_WRONLY | O_APPEND, 0644}, "append to the file"));
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
        const auto place = m_folders.find(path, PathUse::Read);
        if (!place || ::fstatat(place->folder(), place->entry(), &status, place->statFlags()) != 0)
            return readError("cannot read its attributes", path);
        return FileInfo{
            typeOf(status.st_mode), identityOf(status), static_cast<uint32_t>(status.st_mode & 07777)};
    }

    Result<std::vector<DirectoryEntry>> list(const Path& path) override
    {
        Descriptor opened = m_folders.open(path, PathUse::Read, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
        const std::unique_ptr<DIR, int (*)(DIR*)> folder(
            opened.isOpen() ? ::fdopendir(opened.get()) : nullptr, ::closedir);
        if (!folder)
            return readError("cannot list the folder", path);
        (void)opened.release(); // closed with the listing
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
            FileType type = typeOfEntry(*entry);
            struct stat status {
            };
            if (entry->d_type == DT_UNKNOWN) {
                if (::fstatat(::dirfd(folder.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
                    if (errno == ENOENT)
                        continue; // removed since
                    return readError("cannot read the attributes of the entry", path / name);
                }
                type = typeOf(status.st_mode);
            }
            out.push_back({std::move(name), type});
        }
        std::ranges::sort(out, {}, &DirectoryEntry::name);
        return out;
    }

    Result<Path> canonical(const Path& path) override
    {
        if (auto real = m_folders.canonical(path)) {
            SHARDSCOPE_CHECK(stat(path));
            return std::move(*real);
        }
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
        const Descriptor from = m_folders.open(file, PathUse::Read, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        // A file without a name, deleted when it is closed.
        const Descriptor to = m_folders.open(folder, PathUse::Write, O_TMPFILE | O_WRONLY, 0600);
        return from.isOpen() && to.isOpen()
            && retryInterrupted([&] { return ::ioctl(to.get(), FICLONE, from.get()); }) == 0;
    }

    Status makeDirectory(const Path& path, uint32_t mode) override
    {
        const auto place = m_folders.find(path, PathUse::Entry);
        return check(place && ::mkdirat(place->folder(), place->entry(), static_cast<mode_t>(mode)) == 0,
            "cannot create the folder", path);
    }

    Status makeDirectories(const Path& path) override
    {
        errno = m_folders.makeFolders(path);
        return check(errno == 0, "cannot create the folder", path);
    }

    Status removeFile(const Path& path) override
    {
        const auto place = m_folders.find(path, PathUse::Entry);
        const auto unlink = [&](int flags) { return ::unlinkat(place->folder(), place->entry(), flags); };
        return check(place && (unlink(0) == 0 || (errno == EISDIR && unlink(AT_REMOVEDIR) == 0)),
            "cannot remove the file", path);
    }

    Status removeTree(const Path& path) override
    {
        errno = m_folders.removeTree(path);
        return check(errno == 0, "cannot remove the folder", path);
    }

    Status rename(const Path& from, const Path& to) override
    {
        const auto before = m_folders.find(from, PathUse::Entry);
        const auto after = m_folders.find(to, PathUse::Entry);
        SHARDSCOPE_CHECK(check(before && after
                && ::renameat(before->folder(), before->entry(), after->folder(), after->entry()) == 0,
            "cannot rename " + from.filename().string(), to));
        m_folders.renamed(from, to);
        return {};
    }

    Status renameNoReplace(const Path& from, const Path& to) override
    {
        const std::string what = "cannot rename " + from.filename().string();
        const auto before = m_folders.find(from, PathUse::Entry);
        const auto after = m_folders.find(to, PathUse::Entry);
        if (!before || !after)
            return writeError(what, to);
        if (::renameat2(before->folder(), before->entry(), after->folder(), after->entry(), RENAME_NOREPLACE)
            == 0) {
            m_folders.renamed(from, to);
            return {};
        }
        if (errno != EINVAL && errno != ENOSYS)
            return writeError(what, to);
        // Some network file systems do not support the flag. A link replaces nothing, either.
        if (::linkat(before->folder(), before->entry(), after->folder(), after->entry(), 0) == 0) {
            if (::unlinkat(before->folder(), before->entry(), 0) == 0)
                return {};
            const int error = errno;
            ::unlinkat(after->folder(), after->entry(), 0);
            errno = error;
            return writeError(what, to);
        }
        if (errno == EEXIST) {
            // Also of a link that was made, and whose answer was lost or whose old name was not removed.
            if (isSameFile(*before, *after) && ::unlinkat(before->folder(), before->entry(), 0) == 0)
                return {};
            errno = EEXIST;
            return writeError(what, to);
        }
        // Folders have no links, and some file systems have none: check first. A folder that is not empty is
        // never replaced.
        struct stat status {
        };
        if (::fstatat(after->folder(), after->entry(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            errno = EEXIST;
        if (errno != ENOENT)
            return writeError(what, to);
        return rename(from, to);
    }

    Status exchange(const Path& a, const Path& b) override
    {
        const auto one = m_folders.find(a, PathUse::Entry);
        const auto other = m_folders.find(b, PathUse::Entry);
        if (one && other
            && ::renameat2(one->folder(), one->entry(), other->folder(), other->entry(), RENAME_EXCHANGE)
                == 0) {
            m_folders.exchanged(a, b);
            return {};
        }
        if (errno == EINVAL || errno == ENOSYS)
            return fail(ErrorCode::WriteFailed, "this file system cannot swap two folders in one step",
                b.string(), "remove the existing target yourself, or write to another folder");
        return writeError("cannot replace the old folder with the new one", b);
    }

    Status syncDirectory(const Path& path) override
    {
        const Descriptor descriptor = m_folders.open(path, PathUse::Write, O_RDONLY | O_DIRECTORY);
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
        const char* const what = "cannot set the permissions";
        if (!m_folders.isHeld(path, PathUse::Write))
            return check(::chmod(path.c_str(), static_cast<mode_t>(mode)) == 0, what, path);
        const Descriptor descriptor = m_folders.open(path, PathUse::Write, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        return check(
            descriptor.isOpen() && ::fchmod(descriptor.get(), static_cast<mode_t>(mode)) == 0, what, path);
    }

    Result<std::unique_ptr<FileLock>> lock(const Path& path, LockKind kind) override
    {
        const int operation = (kind == LockKind::Shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
        for (;;) {
            SHARDSCOPE_TRY(auto descriptor, openToWrite(path, {O_RDWR, 0666}, "open the lock"));
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
            const auto place = m_folders.find(path, PathUse::Write);
            if (::fstat(descriptor.get(), &held) != 0
                || ((!place || ::fstatat(place->folder(), place->entry(), &named, place->statFlags()) != 0)
                    && errno != ENOENT))
                return writeError("cannot look at the lock", path);
            if (held.st_ino == named.st_ino && held.st_dev == named.st_dev)
                return std::unique_ptr<FileLock>(std::make_unique<PosixLock>(std::move(descriptor)));
        }
    }

private:
    struct Opening {
        int flags = 0;
        mode_t mode = 0;
    };

    Result<std::unique_ptr<WriteFile>> openWrite(const Path& path, int flags, uint32_t mode)
    {
        const Opening how{flags | O_WRONLY, static_cast<mode_t>(mode)};
        SHARDSCOPE_TRY(auto descriptor, openToWrite(path, how, "create the file"));
        return makePosixWriteFile(std::move(descriptor), path);
    }

    /// A file that is created if it is absent. `what` was tried, after "cannot".
    Result<Descriptor> openToWrite(const Path& path, Opening how, const std::string& what)
    {
        const auto place = m_folders.find(path, PathUse::Write);
        // O_NONBLOCK: a FIFO without a reader must not block.
        const int flags = how.flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
        Descriptor out;
        if (place)
            out = Descriptor(
                retryInterrupted([&] { return ::openat(place->folder(), place->entry(), flags, how.mode); }));
        if (!out.isOpen())
            return writeError("cannot " + what, path);
        SHARDSCOPE_CHECK(checkWritable(out.get(), *place, path));
        return out;
    }

    /// A descriptor on a regular file. The type is checked before opening, because opening a device may have
    /// side effects, and again afterwards, because the file may have been replaced in between.
    Result<std::pair<Descriptor, FileIdentity>> openRegular(const Path& path)
    {
        struct stat status {
        };
        const auto place = m_folders.find(path, PathUse::Read);
        if (!place || ::fstatat(place->folder(), place->entry(), &status, place->statFlags()) != 0)
            return readError("cannot open the file", path);
        const auto refuse = [&]() -> tl::unexpected<Error> {
            if (place->isOwn() && S_ISLNK(status.st_mode))
                return forward(linkInTheWay(path));
            return fail(place->isOwn() ? ErrorCode::NoPermission : ErrorCode::Unreadable,
                S_ISDIR(status.st_mode) ? "this is a folder, not a file" : "not a regular file",
                path.string(), place->isOwn() ? "remove it, or choose another folder" : "");
        };
        if (!S_ISREG(status.st_mode))
            return refuse();
        const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | place->openFlags();
        Descriptor descriptor(
            retryInterrupted([&] { return ::openat(place->folder(), place->entry(), flags); }));
        if (!descriptor.isOpen() || ::fstat(descriptor.get(), &status) != 0)
            return readError("cannot open the file", path);
        if (!S_ISREG(status.st_mode))
            return refuse();
        return std::pair(std::move(descriptor), identityOf(status));
    }

    /// The error of errno.
    [[nodiscard]] tl::unexpected<Error> failed(bool writing, std::string what, const Path& path) const
    {
        const int error = errno;
        if (error == ELOOP && m_folders.isHeld(path, writing ? PathUse::Write : PathUse::Read))
            return forward(linkInTheWay(path));
        return forward(errorFromErrno(error, writing, std::move(what), path));
    }
    [[nodiscard]] tl::unexpected<Error> readError(std::string what, const Path& path) const
    {
        return failed(false, std::move(what), path);
    }
    [[nodiscard]] tl::unexpected<Error> writeError(std::string what, const Path& path) const
    {
        return failed(true, std::move(what), path);
    }
    [[nodiscard]] Status check(bool done, std::string what, const Path& path) const
    {
        return done ? Status() : writeError(std::move(what), path);
    }

    PosixFolders& m_folders = heldFolders();
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
