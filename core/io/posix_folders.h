// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/folder_hold.h"
#include "core/io/posix_descriptor.h"

#include <fcntl.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::io {

/// A folder that is held open (holdFolder()).
struct OpenFolder {
    Descriptor descriptor; ///< O_PATH
    HoldKind kind = HoldKind::Named;
    uint32_t owner = 0; ///< of the folder
    bool isShared = false; ///< with a group: its files may belong to any of its users
    bool hasBeneath = false; ///< the kernel resolves paths without links in one call (openat2)

    /// As Ownership::isOwn.
    [[nodiscard]] bool isOwn(uint32_t user) const;
};

/// Where the kernel finds a path: an entry of an open folder, whose last part is no link to be followed; or,
/// outside of held folders, the path as it is.
struct PosixPlace {
    std::shared_ptr<const OpenFolder> hold; ///< null: none
    Descriptor parent; ///< of the entry, if that is not the held folder
    std::string name;

    [[nodiscard]] int folder() const
    {
        return parent.isOpen() ? parent.get() : hold ? hold->descriptor.get() : AT_FDCWD;
    }
    [[nodiscard]] const char* entry() const { return name.c_str(); }
    [[nodiscard]] bool isOwn() const { return hold && hold->kind == HoldKind::Own; }
    [[nodiscard]] int openFlags() const { return hold ? O_NOFOLLOW : 0; }
    [[nodiscard]] int statFlags() const { return hold ? AT_SYMLINK_NOFOLLOW : 0; }
};

/// What a call does with a path.
enum class PathUse {
    Read, ///< reads what is there
    Write, ///< writes to what is there
    Entry, ///< creates, moves or removes the name
};

/// The folders that this process holds, and calls on paths below them. Thread-safe. Failures are an errno
/// unless they are errors: ELOOP where a link would have to be followed.
class PosixFolders
{
public:
    Result<std::unique_ptr<FolderHold>> hold(const Path& path, HoldKind kind);
    /// Nothing, with errno set, where the folder of the entry cannot be reached.
    [[nodiscard]] std::optional<PosixPlace> find(const Path& path, PathUse use) const;
    /// Opens it; not open, with errno set.
    [[nodiscard]] Descriptor open(const Path& path, PathUse use, int flags, mode_t mode = 0) const;
    /// Whether such a call on the path starts at a held folder.
    [[nodiscard]] bool isHeld(const Path& path, PathUse use) const { return match(path, use).has_value(); }
    /// The path without links of what is below an own folder; nothing outside of such folders.
    [[nodiscard]] std::optional<Path> canonical(const Path& path) const;
    /// 0 or an errno.
    [[nodiscard]] int makeFolders(const Path& path) const;
    /// Removes a file, a link, or a folder with everything below it. Success if nothing is there. 0 or an
    /// errno.
    [[nodiscard]] int removeTree(const Path& path) const;
    /// A folder has another path now.
    void renamed(const Path& from, const Path& to);
    /// Two folders have each other's path now.
    void exchanged(const Path& a, const Path& b);

private:
    class Hold;
    struct Entry {
        std::shared_ptr<const OpenFolder> folder;
        std::string path; ///< as it was asked for, absolute
        std::string real; ///< without links
    };
    struct Match {
        Entry entry;
        std::string rest; ///< below it; empty for the folder itself
    };

    [[nodiscard]] std::optional<Match> match(const Path& path, PathUse use) const;
    void move(std::initializer_list<std::pair<Path, Path>> moves);
    void release(const OpenFolder& folder);

    std::atomic<size_t> m_count = 0;
    mutable std::mutex m_mutex;
    std::vector<Entry> m_entries; ///< in the order in which they were opened
};

/// Those of this process.
PosixFolders& heldFolders();

/// Success if an open file may be written to: a regular one and, below an own folder, with one name and the
/// owner of the folder.
Status checkWritable(int descriptor, const PosixPlace& place, const Path& path);
/// The error of a call that met a link below a held folder.
Error linkInTheWay(const Path& path);

} // namespace shardscope::io
