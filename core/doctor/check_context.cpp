// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/check_context.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/io/held_file.h"
#include "core/io/open_files.h"
#include "core/torchfile/zip/zip_directory.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>

namespace shardscope {

namespace {

constexpr uint32_t kMaxRanks = 1'000'000;

std::optional<uint32_t> parseCount(std::string_view text)
{
    uint32_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return out;
}

Status take(CheckTarget& target, std::string_view key, std::string_view value)
{
    const auto wrong = [&](const char* wanted) {
        return fail(
            ErrorCode::Usage, std::string(key) + " takes " + wanted + ", not `" + std::string(value) + "`");
    };
    const auto count = parseCount(value);
    if (key == "world-size") {
        if (!count || *count == 0 || *count > kMaxRanks)
            return wrong("a number of ranks, at least 1");
        target.worldSize = *count;
    } else if (key == "stage") {
        if (!count || *count > 3)
            return wrong("a ZeRO stage from 0 to 3");
        target.stage = static_cast<int>(*count);
    } else if (key == "memory") {
        target.memoryBytes = parseBytes(value);
        if (!target.memoryBytes)
            return wrong("a size such as 64G");
    } else if (key == "disk") {
        if (value.empty())
            return wrong("a folder");
        target.disk = io::Path(std::string(value));
    } else {
        return fail(ErrorCode::Usage, "`" + std::string(key) + "` is not a key of a target", {},
            "use world-size=N, stage=S, memory=SIZE and disk=PATH, separated by commas");
    }
    return {};
}

/// Removes what is before the first comma that separates, and returns it with its own commas.
std::string takePart(std::string_view& text)
{
    std::string out;
    while (!text.empty()) {
        const bool isOwn = text.starts_with("\\,");
        const char next = text[isOwn ? 1 : 0];
        text.remove_prefix(isOwn ? 2 : 1);
        if (next == ',' && !isOwn)
            break;
        out += next;
    }
    return out;
}

/// "64G": with the largest unit that leaves no rest.
std::string sizeWord(uint64_t bytes)
{
    constexpr std::string_view kUnits = "KMGTPE";
    size_t unit = 0;
    for (; unit < kUnits.size() && bytes > 0 && bytes % 1024 == 0; ++unit)
        bytes /= 1024;
    return std::to_string(bytes) + (unit == 0 ? std::string() : std::string(1, kUnits[unit - 1]));
}

} // namespace

Result<CheckTarget> parseCheckTarget(std::string_view text)
{
    CheckTarget target;
    std::string seen = ",";
    while (!text.empty()) {
        const std::string part = takePart(text);
        const size_t equals = part.find('=');
        const std::string key(part.substr(0, equals));
        if (equals == std::string::npos)
            return fail(ErrorCode::Usage, "`" + part + "` is not KEY=VALUE", {},
                "write a target as world-size=N,stage=S,memory=SIZE,disk=PATH");
        if (seen.find("," + key + ",") != std::string::npos)
            return fail(ErrorCode::Usage, "the target has `" + key + "` twice");
        seen += key + ",";
        SHARDSCOPE_CHECK(take(target, key, part.substr(equals + 1)));
    }
    return target;
}

std::string checkTargetWord(const CheckTarget& target)
{
    std::string out;
    const auto add = [&out](std::string_view key, std::string_view value) {
        out += (out.empty() ? "" : ",") + std::string(key) + '=';
        for (const char c : value)
            out += c == ',' ? std::string("\\,") : std::string(1, c);
    };
    if (target.worldSize)
        add("world-size", std::to_string(*target.worldSize));
    if (target.stage)
        add("stage", std::to_string(*target.stage));
    if (target.memoryBytes)
        add("memory", sizeWord(*target.memoryBytes));
    if (target.disk)
        add("disk", target.disk->native()); // last: what it ends with cannot hide a comma
    return out;
}

namespace {

/// A file that was opened, or why it could not be.
using OpenedFile = Result<std::unique_ptr<io::HeldFile>>;

/// With first and last bytes of all files in memory, read together: a far file system waits once.
std::vector<OpenedFile> openHeld(io::FileSystem& files, std::span<const io::Path> paths)
{
    std::vector<OpenedFile> out;
    std::vector<io::WantedRange> wanted;
    for (io::FileSystem::Opened& opened : files.openReadAll(paths)) {
        if (!opened) {
            out.emplace_back(forward(std::move(opened).error()));
            continue;
        }
        auto file = std::make_unique<io::HeldFile>(std::move(*opened));
        const uint64_t end = std::min(file->size(), ZipDirectory::kEndBytes);
        wanted.push_back({file.get(), 0, kSniffBytes});
        wanted.push_back({file.get(), file->size() - end, end});
        out.emplace_back(std::move(file));
    }
    io::hold(files, wanted);
    return out;
}

FileHeader readHeader(const FolderEntry& entry, const OpenedFile& file)
{
    FileHeader out;
    out.name = entry.name;
    if (!file) {
        out.unreadable = file.error();
        return out;
    }
    out.bytes = (*file)->size();
    out.head.resize(std::min<uint64_t>(out.bytes, kSniffBytes));
    const std::span<uint8_t> head(reinterpret_cast<uint8_t*>(out.head.data()), out.head.size());
    if (!head.empty()) {
        if (auto read = (*file)->readAt(0, head); !read) {
            out.unreadable = read.error();
            return out;
        }
    }
    out.kind = sniffFile(head, out.bytes);
    if (out.kind.torchZip) {
        if (auto end = ZipDirectory::readEnd(**file); !end)
            out.noEnd = end.error();
    }
    return out;
}

} // namespace

Result<std::vector<FolderEntry>> folderEntries(io::FileSystem& files, const io::Path& folder)
{
    std::vector<FolderEntry> out;
    const auto entries = files.list(folder);
    if (!entries && entries.error().code == ErrorCode::NotFound)
        return out;
    if (!entries)
        return forward(entries.error());
    std::vector<io::Path> paths;
    for (const io::DirectoryEntry& entry : *entries) {
        if (entry.type != io::FileType::Directory)
            paths.push_back(folder / entry.name);
    }
    const std::vector<Result<io::FileInfo>> infos = files.statAll(paths);
    auto info = infos.begin();
    for (const io::DirectoryEntry& entry : *entries) {
        FolderEntry made;
        made.name = entry.name;
        made.isFolder = entry.type == io::FileType::Directory;
        if (!made.isFolder) {
            if (*info) {
                made.isFolder = (*info)->type == io::FileType::Directory;
                made.identity = (*info)->identity;
            }
            ++info;
        }
        if (!made.isFolder)
            made.parsed = parseCheckpointFileName(entry.name);
        out.push_back(std::move(made));
    }
    return out;
}

Result<std::vector<FileHeader>> readHeaders(const CheckContext& context, unsigned jobs)
{
    std::vector<const FolderEntry*> wanted;
    for (const FolderEntry& entry : context.tag) {
        if (entry.parsed && !entry.isFolder && !entry.parsed->fastWriterPart)
            wanted.push_back(&entry);
    }
    std::vector<FileHeader> out(wanted.size());
    const size_t most = io::filesAtATime();
    for (size_t first = 0; first < wanted.size(); first += most) {
        const size_t count = std::min(most, wanted.size() - first);
        std::vector<io::Path> paths;
        for (size_t i = 0; i < count; ++i)
            paths.push_back(context.found.tagFolder / wanted[first + i]->name);
        const std::vector<OpenedFile> opened = openHeld(context.files, paths);
        SHARDSCOPE_CHECK(parallelFor(count, jobs, context.job, [&](size_t i) -> Status {
            out[first + i] = readHeader(*wanted[first + i], opened[i]);
            return {};
        }));
    }
    return out;
}

} // namespace shardscope
