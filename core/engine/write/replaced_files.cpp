// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/replaced_files.h"

#include "core/checkpoint/folder/wrapper_files.h"
#include "core/engine/write/export_publish.h"
#include "core/engine/write/preflight.h"

#include <algorithm>

namespace shardscope {

Result<std::vector<std::string>> filesBelow(io::FileSystem& files, const io::Path& root,
    const std::function<bool(const std::string& path, io::FileType type)>& isWanted)
{
    std::vector<std::string> out;
    std::vector<std::string> folders{std::string()};
    while (!folders.empty()) {
        const std::string folder = std::move(folders.back());
        folders.pop_back();
        SHARDSCOPE_TRY(const auto entries, files.list(root / folder));
        for (const io::DirectoryEntry& entry : entries) {
            const std::string path = folder + entry.name;
            if (entry.type == io::FileType::Directory)
                folders.push_back(path + "/");
            else if (!isWanted || isWanted(path, entry.type))
                out.push_back(path);
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

Result<std::vector<std::string>> replacedFiles(
    io::FileSystem& files, const WritePlan& plan, const io::Path& destination)
{
    std::vector<std::string> out;
    const io::Path target = destination / plan.targetName;
    SHARDSCOPE_TRY(const bool there, exists(files, target));
    if (there) {
        SHARDSCOPE_TRY(
            out, plan.ownsFolder ? filesBelow(files, target) : replacedByExport(files, plan, target));
    }
    for (const PlannedFile& file : plan.files) {
        if (!isNextToTag(file.path))
            continue;
        SHARDSCOPE_TRY(const bool isThere, exists(files, target / file.path));
        if (isThere)
            out.push_back(file.path);
    }
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace shardscope
