// SPDX-License-Identifier: Apache-2.0
#include "core/io/errno_error.h"

#include "core/io/outage_watch.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <sys/stat.h>

namespace shardscope::io {

namespace {

ErrorCode codeOf(int errnoValue, bool writing)
{
    if (!writing)
        return errnoValue == ENOENT || errnoValue == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Unreadable;
    switch (errnoValue) {
    case ENOSPC:
    case EDQUOT:
        return ErrorCode::NoSpace;
    case EACCES:
    case EPERM:
    case EROFS:
        return ErrorCode::NoPermission;
    case EEXIST:
        return ErrorCode::TargetExists;
    default:
        return ErrorCode::WriteFailed;
    }
}

/// Whether the path, and not the moment, is the reason that it cannot be read.
bool isOfPath(int errnoValue)
{
    switch (errnoValue) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
        return true;
    default:
        return false;
    }
}

std::string hintOf(int errnoValue, bool writing)
{
    switch (errnoValue) {
    case ENOSPC:
        return "free some space there, or choose another folder";
    case EDQUOT:
        return "the disk quota of this user is used up; free some space, or choose another folder";
    case EACCES:
    case EPERM:
        return writing ? "choose a folder that you may write to" : "ask for permission to read it";
    case EROFS:
        return "the file system is mounted read-only; choose another folder";
    case EMFILE:
    case ENFILE:
        return "too many files are open; raise the limit (ulimit -n) or use fewer jobs";
    case ELOOP:
        return "the path runs through a loop of symbolic links";
    case EIO:
    case ESTALE:
        return "the device or the network file system reported a fault; look at the kernel log";
    default:
        return {};
    }
}

/// " (mode 0700, owner 1001:1001)" of what denies the access: `path`, or the nearest folder above it that can
/// be looked at.
std::string rightsOf(const Path& path)
{
    for (Path at = path;; at = at.parent_path()) {
        struct stat status {
        };
        if (::stat(at.empty() ? "." : at.c_str(), &status) == 0) {
            char rights[96];
            std::snprintf(rights, sizeof rights, "mode %04o, owner %u:%u",
                static_cast<unsigned>(status.st_mode & 07777), static_cast<unsigned>(status.st_uid),
                static_cast<unsigned>(status.st_gid));
            const std::string folder = at == path ? "" : "folder `" + at.filename().string() + "`: ";
            return " (" + folder + rights + ")";
        }
        if (at.empty() || at == at.parent_path())
            return {};
    }
}

} // namespace

Error errorFromErrno(int errnoValue, bool writing, std::string what, const Path& path)
{
    std::string reason = std::generic_category().message(errnoValue);
    if (!writing && (errnoValue == EACCES || errnoValue == EPERM))
        reason += rightsOf(path);
    Error out{codeOf(errnoValue, writing), std::move(what) + ": " + reason, path.string(),
        hintOf(errnoValue, writing)};
    if (!writing && !isOfPath(errnoValue))
        noteOutage(out);
    return out;
}

} // namespace shardscope::io
