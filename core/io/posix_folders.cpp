// SPDX-License-Identifier: Apache-2.0
#include "core/io/posix_folders.h"

#include "core/io/errno_error.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>

namespace shardscope::io {

namespace {

constexpr int kOpenFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;

/// Absolute, without empty parts and ".".
std::string absoluteText(const Path& path)
{
    std::error_code ignored;
    const Path whole = path.is_absolute() ? path : std::filesystem::current_path(ignored) / path;
    std::string out;
    for (const Path& part : whole) {
        if (!part.empty() && part != "/" && part != ".")
            out += '/' + part.native();
    }
    return out.empty() ? "/" : out;
}

std::string realPathOf(int descriptor)
{
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error).native();
}

/// openat() which answers ELOOP for a link also where a folder was asked for.
Descriptor openEntry(int folder, const char* name, int flags, mode_t mode = 0)
{
    Descriptor out(retryInterrupted([&] { return ::openat(folder, name, flags | O_CLOEXEC, mode); }));
    struct stat status {
    };
    if (!out.isOpen() && errno == ENOTDIR && (flags & O_NOFOLLOW) != 0) {
        const bool isLink
            = ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
        errno = isLink ? ELOOP : ENOTDIR;
    }
    return out;
}

/// Opens a folder below an open one without following links: one call of the kernel.
Descriptor openBeneath(int folder, const std::string& path)
{
    open_how how{};
    how.flags = kOpenFolder;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const auto call
        = [&] { return static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)); };
    return Descriptor(retryInterrupted(call));
}

/// The same, part by part.
Descriptor openStepwise(int folder, const std::string& path)
{
    Descriptor out;
    for (const Path& part : Path(path)) {
        Descriptor next
            = openEntry(out.isOpen() ? out.get() : folder, part.c_str(), kOpenFolder | O_NOFOLLOW);
        if (!next.isOpen())
            return next;
        out = std::move(next);
    }
    return out;
}

std::optional<std::vector<std::string>> namesIn(int folder)
{
    Descriptor opened = openEntry(folder, ".", O_RDONLY | O_DIRECTORY);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(
        opened.isOpen() ? ::fdopendir(opened.get()) : nullptr, ::closedir);
    if (!listing)
        return std::nullopt;
    (void)opened.release(); // closed with the listing
    std::vector<std::string> out;
    for (;;) {
        errno = 0;
        const dirent* entry = ::readdir(listing.get());
        if (!entry)
            return errno == 0 ? std::optional(std::move(out)) : std::nullopt;
        const std::string_view name = static_cast<const char*>(entry->d_name);
        if (name != "." && name != "..")
            out.emplace_back(name);
    }
}

bool isGone(int result)
{
    return result == 0 || errno == ENOENT;
}

/// Removes what is in an open folder. 0 or an errno.
int removeContents(Descriptor folder)
{
    struct Level {
        Descriptor folder;
        std::vector<std::string> left;
    };
    std::vector<Level> levels;
    const auto enter = [&](Descriptor opened) {
        auto names = namesIn(opened.get());
        if (names)
            levels.push_back({std::move(opened), std::move(*names)});
        return names.has_value();
    };
    if (!enter(std::move(folder)))
        return errno;
    while (!levels.empty()) {
        if (levels.back().left.empty()) {
            levels.pop_back(); // its name is the last one of the level above
            if (levels.empty())
                return 0;
            Level& above = levels.back();
            if (!isGone(::unlinkat(above.folder.get(), above.left.back().c_str(), AT_REMOVEDIR)))
                return errno;
            above.left.pop_back();
            continue;
        }
        Level& level = levels.back();
        const char* const name = level.left.back().c_str();
        Descriptor below = openEntry(level.folder.get(), name, kOpenFolder | O_NOFOLLOW);
        if (below.isOpen()) {
            if (!enter(std::move(below)))
                return errno;
            continue;
        }
        if (errno != ENOTDIR && errno != ELOOP && errno != ENOENT)
            return errno;
        if (!isGone(::unlinkat(level.folder.get(), name, 0)))
            return errno;
        level.left.pop_back();
    }
    return 0;
}

/// The user whom a new file in the folder belongs to. Nothing where none can be created.
std::optional<uid_t> ownerOfNewFiles(int folder)
{
    struct stat status {
    };
    const Descriptor unnamed = openEntry(folder, ".", O_TMPFILE | O_WRONLY, 0600);
    if (unnamed.isOpen())
        return ::fstat(unnamed.get(), &status) == 0 ? std::optional(status.st_uid) : std::nullopt;
    // Network file systems have no files without a name.
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
        return std::nullopt;
    const std::string name = ".owner.partial-" + std::to_string(::getpid()) + "-0";
    const Descriptor named = openEntry(folder, name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0600);
    const bool isKnown = named.isOpen() && ::fstat(named.get(), &status) == 0;
    if (named.isOpen())
        ::unlinkat(folder, name.c_str(), 0);
    return isKnown ? std::optional(status.st_uid) : std::nullopt;
}

/// Whether the umask lets the group write: the user shares files with it.
bool sharesWithGroup()
{
    std::ifstream status("/proc/self/status"); // umask() itself would change it for other threads
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Umask:"))
            return (std::strtoul(line.c_str() + 6, nullptr, 8) & S_IWGRP) == 0;
    }
    return false;
}

bool isInGroup(gid_t group)
{
    std::vector<gid_t> groups(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
    const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
    groups.resize(static_cast<size_t>(std::max(0, count)));
    return group == ::getegid() || std::ranges::find(groups, group) != groups.end();
}

bool isSharedFolder(const struct stat& status)
{
    return (status.st_mode & (S_IWGRP | S_IWOTH)) == S_IWGRP && isInGroup(status.st_gid) && sharesWithGroup();
}

const char* typeText(mode_t mode)
{
    return S_ISLNK(mode) ? "a symbolic link"
        : S_ISDIR(mode)  ? "a folder"
        : S_ISREG(mode)  ? "a file"
                         : "a FIFO, socket or device";
}

Error notOwn(const struct stat& status, const Path& path)
{
    const std::string owner = "user " + std::to_string(status.st_uid);
    return {ErrorCode::NoPermission,
        std::string("this must be a folder of your own, and is ") + typeText(status.st_mode) + " of " + owner,
        path.string(),
        "choose another folder, or "
            + (status.st_uid == ::geteuid() ? "remove it" : "have " + owner + " remove it")};
}

} // namespace

Error linkInTheWay(const Path& path)
{
    return {ErrorCode::NoPermission,
        "a symbolic link is here, or above it, where a file or folder of the job must be", path.string(),
        "no link is followed here: remove it, or choose another folder"};
}

Status checkWritable(int descriptor, const PosixPlace& place, const Path& path)
{
    struct stat status {
    };
    if (::fstat(descriptor, &status) != 0)
        return forward(errorFromErrno(errno, true, "cannot read the attributes of the file", path));
    const auto refuse = [&](const std::string& why) {
        return fail(ErrorCode::NoPermission, "the file is not written to, because " + why, path.string(),
            "remove it if it is of no use, or choose another folder");
    };
    if (!S_ISREG(status.st_mode))
        return refuse(std::string("it is ") + typeText(status.st_mode));
    if (!place.isOwn())
        return {};
    if (status.st_nlink > 1)
        return refuse("it has another name elsewhere (a hard link)");
    if (!place.hold->isOwn(status.st_uid))
        return refuse("it belongs to user " + std::to_string(status.st_uid));
    return {};
}

bool OpenFolder::isOwn(uint32_t user) const
{
    const uid_t own = ::geteuid();
    if (kind == HoldKind::Own)
        return user == owner || user == own || isShared;
    return user == own || (owner != own && user == ownerOfNewFiles(descriptor.get()));
}

class PosixFolders::Hold final : public FolderHold
{
public:
    Hold(PosixFolders& folders, std::shared_ptr<const OpenFolder> folder)
        : m_folders(folders)
        , m_folder(std::move(folder))
    {
    }
    ~Hold() override { m_folders.release(*m_folder); }

    [[nodiscard]] Result<Ownership> ownership(const Path& path) const override
    {
        const auto place = m_folders.find(path, PathUse::Write);
        struct stat status {
        };
        if (!place || ::fstatat(place->folder(), place->entry(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return forward(errorFromErrno(errno, false, "cannot read its attributes", path));
        return Ownership{
            status.st_uid, m_folder->isOwn(status.st_uid), !S_ISDIR(status.st_mode) && status.st_nlink > 1};
    }

private:
    PosixFolders& m_folders;
    std::shared_ptr<const OpenFolder> m_folder;
};

Result<std::unique_ptr<FolderHold>> PosixFolders::hold(const Path& path, HoldKind kind)
{
    const auto place = find(path, PathUse::Entry);
    if (!place)
        return forward(errno == ELOOP ? linkInTheWay(path)
                                      : errorFromErrno(errno, true, "cannot open the folder", path));
    OpenFolder opened;
    opened.kind = kind;
    const bool follows = kind == HoldKind::Named && !place->hold;
    opened.descriptor = openEntry(place->folder(), place->entry(), kOpenFolder | (follows ? 0 : O_NOFOLLOW));
    struct stat status {
    };
    if (!opened.descriptor.isOpen()) {
        const int error = errno;
        const bool isOther = error == ELOOP || error == ENOTDIR;
        if (isOther && ::fstatat(place->folder(), place->entry(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            return forward(notOwn(status, path));
        return forward(errorFromErrno(error, true, "cannot open the folder", path));
    }
    if (::fstat(opened.descriptor.get(), &status) != 0)
        return forward(errorFromErrno(errno, true, "cannot read its attributes", path));
    opened.owner = status.st_uid;
    opened.hasBeneath = openBeneath(opened.descriptor.get(), ".").isOpen();
    if (kind == HoldKind::Own && status.st_uid != ::geteuid()) {
        opened.isShared = isSharedFolder(status);
        // Some file systems give all files to one user, whoever creates them.
        if (!opened.isShared && ownerOfNewFiles(opened.descriptor.get()) != status.st_uid)
            return forward(notOwn(status, path));
    }
    Entry entry{std::make_shared<const OpenFolder>(std::move(opened)), absoluteText(path), {}};
    entry.real = realPathOf(entry.folder->descriptor.get());
    auto out = std::make_unique<Hold>(*this, entry.folder);
    const std::lock_guard lock(m_mutex);
    m_entries.push_back(std::move(entry));
    m_count = m_entries.size();
    return std::unique_ptr<FolderHold>(std::move(out));
}

void PosixFolders::release(const OpenFolder& folder)
{
    const std::lock_guard lock(m_mutex);
    std::erase_if(m_entries, [&](const Entry& entry) { return entry.folder.get() == &folder; });
    m_count = m_entries.size();
}

std::optional<PosixFolders::Match> PosixFolders::match(const Path& path, PathUse use) const
{
    if (m_count == 0)
        return std::nullopt;
    const std::string text = absoluteText(path);
    std::optional<Match> out;
    size_t longest = 0;
    const std::lock_guard lock(m_mutex);
    for (const Entry& entry : m_entries) {
        if (use == PathUse::Read && entry.folder->kind != HoldKind::Own)
            continue;
        for (const std::string& folder : {entry.path, entry.real}) {
            const std::string begin = folder == "/" ? folder : folder + '/';
            const bool isAt = text == folder;
            if (folder.empty() || folder.size() < longest || (!isAt && !text.starts_with(begin)))
                continue;
            // Without links, ".." is the folder above.
            std::string rest = isAt ? "" : Path(text.substr(begin.size())).lexically_normal().native();
            if (rest == ".")
                rest.clear();
            if (rest == ".." || rest.starts_with("../") || (rest.empty() && use == PathUse::Entry))
                continue;
            while (rest.ends_with('/'))
                rest.pop_back();
            longest = folder.size();
            out = Match{entry, std::move(rest)};
        }
    }
    return out;
}

std::optional<PosixPlace> PosixFolders::find(const Path& path, PathUse use) const
{
    const auto found = match(path, use);
    PosixPlace out;
    if (!found) {
        out.name = path.native();
        while (use == PathUse::Entry && out.name.size() > 1 && out.name.ends_with('/'))
            out.name.pop_back(); // else a link would be followed
        return out;
    }
    out.hold = found->entry.folder;
    const Path rest = found->rest;
    out.name = rest.empty() ? "." : rest.filename().native();
    if (!rest.has_parent_path())
        return out;
    const int folder = out.hold->descriptor.get();
    const std::string parent = rest.parent_path().native();
    out.parent = out.hold->hasBeneath ? openBeneath(folder, parent) : openStepwise(folder, parent);
    if (!out.parent.isOpen())
        return std::nullopt;
    return out;
}

Descriptor PosixFolders::open(const Path& path, PathUse use, int flags, mode_t mode) const
{
    const auto place = find(path, use);
    return place ? openEntry(place->folder(), place->entry(), flags | place->openFlags(), mode)
                 : Descriptor();
}

std::optional<Path> PosixFolders::canonical(const Path& path) const
{
    const auto found = match(path, PathUse::Read);
    if (!found || found->entry.real.empty())
        return std::nullopt;
    const Path real = found->entry.real;
    return found->rest.empty() ? real : real / found->rest;
}

int PosixFolders::makeFolders(const Path& path) const
{
    const auto found = match(path, PathUse::Write);
    if (!found) {
        std::error_code error;
        std::filesystem::create_directories(path, error);
        return error.value();
    }
    Descriptor at;
    for (const Path& part : Path(found->rest)) {
        const int folder = at.isOpen() ? at.get() : found->entry.folder->descriptor.get();
        if (::mkdirat(folder, part.c_str(), 0777) != 0 && errno != EEXIST)
            return errno;
        Descriptor next = openEntry(folder, part.c_str(), kOpenFolder | O_NOFOLLOW);
        if (!next.isOpen())
            return errno;
        at = std::move(next);
    }
    return 0;
}

int PosixFolders::removeTree(const Path& path) const
{
    const auto place = find(path, PathUse::Entry);
    if (!place)
        return errno == ENOENT ? 0 : errno;
    // A held folder is emptied by its handle, whatever has its name by now.
    const auto held = match(path, PathUse::Write);
    const bool isHeld = held && held->rest.empty();
    const Descriptor folder = isHeld ? openEntry(held->entry.folder->descriptor.get(), ".", kOpenFolder)
                                     : openEntry(place->folder(), place->entry(), kOpenFolder | O_NOFOLLOW);
    const bool isOther = !folder.isOpen() && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT);
    if (!folder.isOpen() && !isOther)
        return errno;
    if (!folder.isOpen())
        return isGone(::unlinkat(place->folder(), place->entry(), 0)) ? 0 : errno;
    if (const int error = removeContents(Descriptor(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0))))
        return error;
    struct stat emptied {
    };
    struct stat named {
    };
    if (::fstat(folder.get(), &emptied) != 0)
        return errno;
    if (::fstatat(place->folder(), place->entry(), &named, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (emptied.st_ino != named.st_ino || emptied.st_dev != named.st_dev)
        return 0; // another one has its name
    return isGone(::unlinkat(place->folder(), place->entry(), AT_REMOVEDIR)) ? 0 : errno;
}

void PosixFolders::renamed(const Path& from, const Path& to)
{
    move({{from, to}});
}

void PosixFolders::exchanged(const Path& a, const Path& b)
{
    move({{a, b}, {b, a}});
}

void PosixFolders::move(std::initializer_list<std::pair<Path, Path>> moves)
{
    if (m_count == 0)
        return;
    const std::lock_guard lock(m_mutex);
    for (Entry& entry : m_entries) {
        for (const auto& [from, to] : moves) {
            const std::string before = absoluteText(from);
            if (entry.path != before && entry.real != before)
                continue;
            entry.path = absoluteText(to);
            entry.real = realPathOf(entry.folder->descriptor.get());
            break;
        }
    }
}

PosixFolders& heldFolders()
{
    static PosixFolders instance;
    return instance;
}

Result<std::unique_ptr<FolderHold>> holdFolder(const Path& folder, HoldKind kind)
{
    return heldFolders().hold(folder, kind);
}

Status checkWritable(const Path& folder)
{
    if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0)
        return {};
    return tl::unexpected(errorFromErrno(errno, true, "cannot write to the folder", folder));
}

} // namespace shardscope::io
