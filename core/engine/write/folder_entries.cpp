// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/folder_entries.h"

#include "core/engine/write/preflight.h"

namespace shardscope {

Result<std::optional<io::FileType>> FolderEntries::typeOf(const io::Path& path)
{
    const io::Path parent = path.parent_path();
    if (!parent.empty()) {
        SHARDSCOPE_TRY(const auto type, typeOf(parent));
        if (type != io::FileType::Directory)
            return std::optional<io::FileType>();
    }
    auto known = m_types.find(parent);
    if (known == m_types.end()) {
        auto entries = m_files.list(m_root / parent);
        if (!entries)
            return forward(cannotWrite(std::move(entries).error()));
        known = m_types.try_emplace(parent).first;
        for (const io::DirectoryEntry& entry : *entries)
            known->second.emplace(entry.name, entry.type);
    }
    const auto found = known->second.find(path.filename().string());
    return found == known->second.end() ? std::nullopt : std::optional(found->second);
}

} // namespace shardscope
