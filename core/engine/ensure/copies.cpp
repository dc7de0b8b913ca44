// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ensure/copies.h"

#include "core/base/text.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/file_names.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace shardscope {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kManifestLimit = uint64_t{1} << 32;
constexpr uint64_t kPointerLimit = 4096;

/// The plan in a tag's manifest; null if it has none.
Json planOf(io::FileSystem& files, const io::Path& tagFolder)
{
    const auto text = files.readSmall(tagFolder / kManifestName, kManifestLimit);
    const Json manifest = text ? Json::parse(*text, nullptr, false) : Json();
    return manifest.is_object() ? manifest.value("plan", Json()) : Json();
}

bool isReshard(io::FileSystem& files, const io::Path& tagFolder)
{
    const Json plan = planOf(files, tagFolder);
    return plan.is_object() && plan.value("verb", Json()) == "reshard";
}

std::vector<io::Path> foldersIn(io::FileSystem& files, const io::Path& folder)
{
    std::vector<io::Path> out;
    const auto entries = files.list(folder);
    if (!entries)
        return out;
    for (const io::DirectoryEntry& entry : *entries) {
        if (entry.type == io::FileType::Directory && !entry.name.starts_with('.'))
            out.push_back(folder / entry.name);
    }
    return out;
}

bool isCopy(io::FileSystem& files, const io::Path& folder, bool numbered)
{
    const std::vector<io::Path> tags = numbered ? foldersIn(files, folder) : std::vector{folder};
    return std::ranges::any_of(tags, [&](const io::Path& tag) { return isReshard(files, tag); });
}

} // namespace

bool holdsCopy(io::FileSystem& files, const WritePlan& plan, const io::Path& destination)
{
    const io::Path target = destination / plan.targetName();
    const Json made = planOf(files, target);
    if (!made.is_object() || made.value("id", Json()) != plan.id())
        return false;
    std::vector<io::Path> paths;
    for (const PlannedFile& file : plan.files())
        paths.push_back(
            isNextToTag(file.path) ? destination / file.path.substr(kNextToTag.size()) : target / file.path);
    const auto found = files.statAll(paths);
    for (size_t i = 0; i < found.size(); ++i) {
        if (!found[i] || found[i]->identity.bytes != plan.files()[i].bytes)
            return false;
    }
    if (plan.pointerName().empty())
        return true;
    const auto pointer = files.readSmall(destination / plan.pointerName(), kPointerLimit);
    return pointer && *pointer == plan.targetName();
}

Status checkReplaced(io::FileSystem& files, const WritePlan& plan, const io::Path& destination)
{
    std::vector<std::string> names{plan.targetName()};
    if (auto pointer = files.readSmall(destination / plan.pointerName(), kPointerLimit))
        names.push_back(std::move(*pointer));
    for (const std::string& name : names) {
        const io::Path tag = destination / name;
        if (files.stat(tag) && !isReshard(files, tag))
            return fail(ErrorCode::TargetExists, "the folder for copies has a tag that is no copy",
                tag.string(), "give this folder as RUN to go on from it, or name another one with --into");
    }
    return {};
}

Result<std::vector<io::Path>> removeOldCopies(
    io::FileSystem& files, const io::Path& folder, bool numbered, const io::Path& current, size_t keep)
{
    const auto nameOf = [](const io::Path& path) { return path.filename().native(); };
    std::vector<io::Path> copies; // older ones
    for (io::Path& path : foldersIn(files, folder)) {
        if (compareNaturally(nameOf(path), nameOf(current)) < 0 && isCopy(files, path, numbered))
            copies.push_back(std::move(path));
    }
    std::ranges::sort(copies,
        [&](const io::Path& a, const io::Path& b) { return compareNaturally(nameOf(a), nameOf(b)) < 0; });
    std::vector<io::Path> removed;
    const size_t others = keep - std::min<size_t>(keep, 1);
    for (size_t i = 0; i + others < copies.size(); ++i) {
        const io::Path& path = copies[i];
        // The manifest first: what is left of a copy must not be taken for one.
        if (!numbered)
            SHARDSCOPE_CHECK(files.removeTree(path / kManifestName));
        SHARDSCOPE_CHECK(files.removeTree(path));
        removed.push_back(path);
    }
    if (!removed.empty())
        SHARDSCOPE_CHECK(files.syncDirectory(folder));
    return removed;
}

} // namespace shardscope
