// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <memory>

namespace shardscope::io {

enum class HoldKind {
    /// A folder of this user, where nothing of others is expected: all calls go through its handle.
    Own,
    /// A folder that the user named, by way of links or not, whoever owns it: only calls that create, move or
    /// remove something go through its handle.
    Named,
};

/// Whose a file or folder is, links not followed.
struct Ownership {
    uint32_t user = 0;
    /// It is of the user whom what this process creates there belongs to, or of any user of a group that
    /// shares an own folder.
    bool isOwn = false;
    bool hasOtherNames = false; ///< a file with hard links
};

/// A folder that stays open until this is destroyed (holdFolder()).
class FolderHold
{
public:
    virtual ~FolderHold() = default;
    FolderHold() = default;
    FolderHold(const FolderHold&) = delete;
    FolderHold& operator=(const FolderHold&) = delete;

    /// Of something at or below it. NotFound, Unreadable. Thread-safe.
    [[nodiscard]] virtual Result<Ownership> ownership(const Path& path) const = 0;
};

/// Opens a folder of this machine and keeps it open: while the result lives, calls of realFileSystem(), and
/// of all that pass calls on to it, on paths at or below `folder` (spelled as here, or canonical) start at
/// this handle and follow no link, whoever plants one. HoldKind says which calls. Where holds are nested, the
/// innermost counts. A held folder that is renamed by these calls keeps its hold under the new name.
/// Thread-safe.
///
/// What exists below an own folder and is opened to be written must be a regular file with one name and the
/// folder's owner. NoPermission if that, or anything else in the way of a call, is not so; also if `folder`
/// itself is a link or belongs to another user. A folder of the user's group counts as own where the group
/// may write to it and the umask lets the group write. WriteFailed if it does not exist.
Result<std::unique_ptr<FolderHold>> holdFolder(const Path& folder, HoldKind kind);

/// Whether this process may create entries in a folder, as far as the kernel tells without trying.
/// WriteFailed and others as for a write that fails.
Status checkWritable(const Path& folder);

} // namespace shardscope::io
