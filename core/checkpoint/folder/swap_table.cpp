// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/swap_table.h"

#include "core/base/finding_codes.h"
#include "core/base/text_cursor.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace shardscope {

namespace {

constexpr std::string_view kSuffix = ".tensor.swp";
constexpr std::string_view kGradient = "_gradient_";

bool isId(std::string_view text)
{
    return !text.empty() && text.front() != '_' && text.back() != '_'
        && std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || c == '_'; });
}

} // namespace

std::optional<SwapFileName> parseSwapFileName(std::string_view name)
{
    if (!name.ends_with(kSuffix))
        return std::nullopt;
    name.remove_suffix(kSuffix.size());
    if (const size_t gradient = name.find(kGradient); gradient != std::string_view::npos) {
        if (!isId(name.substr(0, gradient)) || !isId(name.substr(gradient + kGradient.size())))
            return std::nullopt;
        return SwapFileName{{}, name.substr(0, gradient), true};
    }
    const size_t dash = name.rfind('-');
    if (dash == std::string_view::npos)
        return isId(name) ? std::optional(SwapFileName{"fp32", name, false}) : std::nullopt;
    if (dash == 0 || !isId(name.substr(dash + 1)))
        return std::nullopt;
    return SwapFileName{name.substr(0, dash), name.substr(dash + 1), false};
}

std::string swapFileName(std::string_view state, std::string_view id)
{
    std::string out = state == "fp32" ? std::string() : std::string(state) + "-";
    out += id;
    out += kSuffix;
    return out;
}

std::vector<uint64_t> swapIdNumbers(std::string_view id)
{
    std::vector<uint64_t> out;
    while (!id.empty()) {
        uint64_t number = 0;
        const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
        if (error != std::errc())
            return {};
        out.push_back(number);
        id.remove_prefix(static_cast<size_t>(end - id.data()));
        if (!id.empty() && id.front() != '_')
            return {};
        if (!id.empty())
            id.remove_prefix(1);
    }
    return out;
}

namespace {

/// "rank3", "rank03"
std::optional<uint32_t> rankOfFolder(std::string_view name)
{
    TextCursor cursor(name);
    uint32_t rank = 0;
    if (!cursor.takeText("rank") || !cursor.takeNumber(rank) || !cursor.rest().empty())
        return std::nullopt;
    return rank;
}

std::vector<io::DirectoryEntry> entriesOf(const Reading& reading, const io::Path& folder)
{
    auto entries = reading.files.list(folder);
    if (entries)
        return std::move(*entries);
    if (entries.error().code != ErrorCode::NotFound)
        reading.add(code::kFileUnreadable, Severity::Error, "the folder of swap files cannot be listed",
            folder.filename().string(), {describe(entries.error())});
    return {};
}

/// Adds the swap files among `entries` to the checkpoint's list of files.
SwapFolder takeFiles(const Reading& reading, const io::Path& path, SwapFolder folder,
    const std::vector<io::DirectoryEntry>& entries)
{
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.type == io::FileType::Directory || !parseSwapFileName(entry.name)
            || reading.job.cancelled())
            continue;
        CheckpointFile file;
        file.path = path / entry.name;
        file.name = folder.name + "/" + entry.name;
        file.role = FileRole::Swap;
        if (folder.rank)
            file.rank = RankCoordinate{*folder.rank, 0, 0};
        const auto info = reading.files.stat(file.path);
        if (info)
            file.identity = info->identity;
        if (!info || info->type != io::FileType::Regular)
            file.status = FileStatus::Damaged;
        folder.files.push_back(FileId{static_cast<uint32_t>(reading.out.files.size())});
        reading.out.files.push_back(std::move(file));
    }
    return folder;
}

/// True for the local ranks of a node with its own storage: they count from 0, while the optimizer files next
/// to them have the ranks of the whole run.
bool areLocalRanks(const std::vector<uint32_t>& folders, const std::vector<uint32_t>& ranks)
{
    return folders.size() == ranks.size() && std::none_of(folders.begin(), folders.end(), [&](uint32_t rank) {
        return std::binary_search(ranks.begin(), ranks.end(), rank);
    });
}

/// NVME_PATH/zero_stage_3/optimizer. `given` is that folder or one of the two above it.
std::optional<io::Path> optimizerFolder(const Reading& reading, const io::Path& given)
{
    for (const char* tail : {"zero_stage_3/optimizer", "optimizer", "."}) {
        const io::Path path = (given / tail).lexically_normal();
        const auto entries = reading.files.list(path);
        if (!entries)
            continue;
        for (const io::DirectoryEntry& entry : *entries) {
            if (!rankOfFolder(entry.name) || entry.type == io::FileType::Regular)
                continue;
            const auto inside = reading.files.list(path / entry.name);
            if (inside && std::any_of(inside->begin(), inside->end(), [](const io::DirectoryEntry& file) {
                    return parseSwapFileName(file.name).has_value();
                }))
                return path;
        }
    }
    return std::nullopt;
}

bool addLiveSwapFolder(Reading& reading, const io::Path& given, SwapFolder::Origin origin)
{
    const auto path = optimizerFolder(reading, given);
    if (!path)
        return false;
    for (const io::DirectoryEntry& entry : entriesOf(reading, *path)) {
        const auto rank = rankOfFolder(entry.name);
        if (!rank || entry.type == io::FileType::Regular)
            continue;
        reading.swapFolders.push_back(
            takeFiles(reading, *path / entry.name, {origin, "zero_stage_3/optimizer/" + entry.name, rank, {}},
                entriesOf(reading, *path / entry.name)));
    }
    return true;
}

} // namespace

void addOffloadedTensors(Reading& reading, const io::Path& path, const std::vector<uint32_t>& ranks)
{
    const std::string name(kOffloadedTensors);
    const auto entries = entriesOf(reading, path);
    std::vector<uint32_t> folders;
    for (const io::DirectoryEntry& entry : entries) {
        if (const auto rank = rankOfFolder(entry.name); rank && entry.type != io::FileType::Regular)
            folders.push_back(*rank);
    }
    std::sort(folders.begin(), folders.end());
    const bool local = areLocalRanks(folders, ranks);
    for (const io::DirectoryEntry& entry : entries) {
        const auto number = rankOfFolder(entry.name);
        if (!number || entry.type == io::FileType::Regular)
            continue;
        uint32_t rank = *number;
        if (local)
            rank = ranks[static_cast<size_t>(
                std::lower_bound(folders.begin(), folders.end(), *number) - folders.begin())];
        reading.swapFolders.push_back(takeFiles(reading, path / entry.name,
            {SwapFolder::Origin::Checkpoint, name + "/" + entry.name, rank, {}},
            entriesOf(reading, path / entry.name)));
    }
    const auto only = ranks.size() == 1 ? std::optional(ranks.front()) : std::nullopt;
    SwapFolder flat = takeFiles(reading, path, {SwapFolder::Origin::Checkpoint, name, only, {}}, entries);
    if (!flat.files.empty())
        reading.swapFolders.push_back(std::move(flat));
}

bool isSwapFolder(const Reading& reading, const io::Path& folder)
{
    return optimizerFolder(reading, folder).has_value();
}

bool addNamedSwapFolders(Reading& reading)
{
    bool any = false;
    for (const io::Path& root : reading.roots)
        any = addLiveSwapFolder(reading, root, SwapFolder::Origin::Named) || any;
    return any;
}

void addSwapFolderNextToTag(Reading& reading)
{
    addLiveSwapFolder(reading, reading.out.runFolder, SwapFolder::Origin::NextToTag);
}

} // namespace shardscope
