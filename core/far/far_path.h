// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope::far {

/// A path on another host, spelled `[user@]host:/path`, or `[user@]host:~/path` below the home folder there.
/// Such a path is a path of FarFiles like any other: its parents and children are far, too.
struct FarPath {
    std::string host; ///< for ssh: "node7", "ada@node7", "ada@[2001:db8::7]"
    io::Path path; ///< there: "/runs/llama", "~/runs"
};

/// Nothing for a path of this machine. In front of the colon only what a host and a user can have: letters,
/// digits, '.', '_', '-' (not first), and an address in brackets; `s3://` is none (core/objects).
std::optional<FarPath> farPathOf(const io::Path& path);
bool isFar(const io::Path& path);
/// Whether it is far, or in an object store: not on this machine.
bool isElsewhere(const io::Path& path);
/// The inverse.
io::Path farPath(std::string_view host, const io::Path& there);

/// What somebody typed, as a path of FarFiles: `host:runs` and `host:` are below the home folder, as scp and
/// rsync take them. Stays as it is where the part in front of the colon is no host, or where this machine has
/// something of that name; `./a:b` is always of this machine.
std::string typedPath(const std::string& text);

/// What to say of a host that is spelled like a drive of Windows, with one letter; else empty.
std::string driveHint(std::string_view host);

/// A command for a shell of this machine that runs `command` there, for people.
std::string sshCommand(std::string_view host, const std::string& command);
/// The host as ssh takes it: an address without its brackets.
std::string sshName(std::string_view host);

} // namespace shardscope::far
