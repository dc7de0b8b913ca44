// SPDX-License-Identifier: Apache-2.0
#include "core/io/user_cache.h"

#include "core/io/published_file.h"

#include <algorithm>
#include <cstdlib>

namespace shardscope::io {

namespace {

void removeOldest(FileSystem& files, const Path& folder, const Path& extension, size_t maxFiles)
{
    const auto entries = files.list(folder);
    if (!entries || entries->size() <= maxFiles)
        return;
    std::vector<Path> ours;
    for (const DirectoryEntry& entry : *entries) {
        if (entry.type == FileType::Regular && Path(entry.name).extension() == extension)
            ours.push_back(folder / entry.name);
    }
    if (ours.size() <= maxFiles)
        return;
    std::vector<std::pair<int64_t, size_t>> byAge;
    const auto infos = files.statAll(ours);
    for (size_t i = 0; i < ours.size(); ++i) {
        if (infos[i])
            byAge.emplace_back(infos[i]->identity.modifiedNs, i);
    }
    std::ranges::sort(byAge);
    for (size_t i = 0; i + maxFiles < byAge.size(); ++i)
        static_cast<void>(files.removeFile(ours[byAge[i].second]));
}

} // namespace

Path userCache()
{
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/')
        return Path(cache) / "shardscope";
    const char* const home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? Path(home) / ".cache/shardscope" : Path();
}

void keepInUserCache(FileSystem& files, const Path& path, std::string_view bytes, size_t maxFiles)
{
    if (!files.makeDirectories(path.parent_path()))
        return;
    const auto file = createForPublishing(files, path, true);
    if (!file)
        return;
    Status done = (*file)->writeAt(0, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    if (publishFile(files, **file, path, true, std::move(done)))
        removeOldest(files, path.parent_path(), path.extension(), maxFiles);
}

} // namespace shardscope::io
