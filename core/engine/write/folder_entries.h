// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <map>
#include <optional>
#include <string>

namespace shardscope {

/// The contents of a folder tree, by path. Each folder is listed once.
class FolderEntries
{
public:
    FolderEntries(io::FileSystem& files, io::Path root)
        : m_files(files)
        , m_root(std::move(root))
    {
    }

    /// The type of the entry at `path`, relative to the root, without following links. Empty if it or a
    /// parent folder is missing.
    Result<std::optional<io::FileType>> typeOf(const io::Path& path);

private:
    io::FileSystem& m_files;
    io::Path m_root;
    std::map<io::Path, std::map<std::string, io::FileType>> m_types; ///< by folder, then by name
};

} // namespace shardscope
