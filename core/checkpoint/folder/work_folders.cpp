// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/work_folders.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/run_listing.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

namespace shardscope {

namespace {

constexpr std::string_view kPartial = ".partial-";
constexpr size_t kIdDigits = 16;

bool isJobId(std::string_view text)
{
    return text.size() == kIdDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The PID of "PID-N".
std::optional<int64_t> processOf(std::string_view text)
{
    int64_t process = 0;
    uint32_t number = 0;
    const size_t dash = text.find('-');
    if (dash == std::string_view::npos)
        return std::nullopt;
    const char* const middle = text.data() + dash;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), middle, process);
    const auto second = std::from_chars(middle + 1, end, number);
    const bool whole = first.ec == std::errc() && first.ptr == middle && second.ec == std::errc()
        && second.ptr == end && process > 0;
    return whole ? std::optional(process) : std::nullopt;
}

/// The parts of the name. Nothing if the name is not that of unfinished work.
std::optional<UnfinishedWork> workOf(const io::Path& folder, const io::DirectoryEntry& entry)
{
    const size_t at = entry.name.rfind(kPartial);
    if (at == std::string::npos || at < 2 || entry.name.front() != '.')
        return std::nullopt;
    UnfinishedWork out;
    out.path = folder / entry.name;
    out.target = entry.name.substr(1, at - 1);
    const std::string_view rest = std::string_view(entry.name).substr(at + kPartial.size());
    out.isFolder = entry.type == io::FileType::Directory;
    out.isLink = entry.type == io::FileType::Symlink;
    const auto process = processOf(rest);
    if (out.isFolder || out.isLink)
        return isJobId(rest) || (out.isLink && process) ? std::optional(out) : std::nullopt;
    if (entry.type != io::FileType::Regular || !process)
        return std::nullopt;
    out.process = *process;
    return out;
}

/// Whether a folder with such a name has the content of a work folder: only entries that a job makes,
/// including `lock`, and `journal` or `parts`. While it is created or removed, it may hold only `lock`,
/// `lease` and empty folders.
bool isWorkFolder(io::FileSystem& files, const io::Path& path)
{
    const auto entries = files.list(path);
    if (!entries)
        return false;
    bool hasLock = false;
    bool hasJournal = false;
    bool hasOnlyLock = true;
    for (const io::DirectoryEntry& entry : *entries) {
        if (!isWorkFolderEntry(entry))
            return false;
        hasLock = hasLock || entry.name == "lock";
        hasJournal = hasJournal || entry.name == "journal" || entry.name == "parts";
        if (entry.name == "lease")
            continue;
        if (entry.type == io::FileType::Directory) {
            const auto inside = files.list(path / entry.name);
            hasOnlyLock = hasOnlyLock && inside && inside->empty();
        } else {
            hasOnlyLock = hasOnlyLock && entry.name == "lock";
        }
    }
    return hasLock && (hasJournal || hasOnlyLock);
}

void addSize(io::FileSystem& files, const io::Path& path, UnfinishedWork& work)
{
    if (const auto info = files.stat(path)) {
        work.bytes += info->type == io::FileType::Regular ? info->identity.bytes : 0;
        work.modifiedNs = std::max(work.modifiedNs, info->identity.modifiedNs);
    }
}

void measure(io::FileSystem& files, UnfinishedWork& work)
{
    addSize(files, work.path, work);
    std::vector<io::Path> folders;
    if (work.isFolder)
        folders.push_back(work.path);
    while (!folders.empty()) {
        const io::Path folder = std::move(folders.back());
        folders.pop_back();
        const auto entries = files.list(folder);
        if (!entries)
            continue;
        for (const io::DirectoryEntry& entry : *entries) {
            if (entry.type == io::FileType::Directory)
                folders.push_back(folder / entry.name);
            else if (entry.type == io::FileType::Regular)
                addSize(files, folder / entry.name, work);
            work.isPublishing = work.isPublishing || (folder == work.path && entry.name == "publishing");
        }
    }
}

std::vector<UnfinishedWork> workAmong(
    io::FileSystem& files, const io::Path& folder, const std::vector<io::DirectoryEntry>& entries)
{
    std::vector<UnfinishedWork> out;
    for (const io::DirectoryEntry& entry : entries) {
        auto work = workOf(folder, entry);
        if (work && (!work->isFolder || isWorkFolder(files, work->path))) {
            if (!work->isLink)
                measure(files, *work);
            out.push_back(std::move(*work));
        }
    }
    return out;
}

} // namespace

bool isWorkFolderEntry(const io::DirectoryEntry& entry)
{
    static const std::map<std::string, io::FileType> kEntries{{"lock", io::FileType::Regular},
        {"plan", io::FileType::Regular}, {"plan.tmp", io::FileType::Regular},
        {"journal", io::FileType::Regular}, {"journal.tmp", io::FileType::Regular},
        {"files", io::FileType::Directory}, {"lease", io::FileType::Directory},
        {"parts", io::FileType::Directory}, {"beside", io::FileType::Directory},
        {"pointer", io::FileType::Regular}, {"publishing", io::FileType::Regular},
        {"publishing.tmp", io::FileType::Regular}, {"replaced", io::FileType::Regular}};
    const auto known = kEntries.find(entry.name);
    return known != kEntries.end() && known->second == entry.type;
}

std::vector<UnfinishedWork> findUnfinishedWork(io::FileSystem& files, const io::Path& folder)
{
    const auto entries = files.list(folder);
    return entries ? workAmong(files, folder, *entries) : std::vector<UnfinishedWork>();
}

std::vector<Finding> unfinishedWorkFindings(
    io::FileSystem& files, const Checkpoint& checkpoint, const RunListing* listing)
{
    std::vector<UnfinishedWork> all;
    if (!checkpoint.tagFolder.empty())
        all = findUnfinishedWork(files, checkpoint.tagFolder);
    // A folder by itself has no run folder. Work next to it belongs to others, except work under its own
    // name.
    const bool inRun = !hasNoRunFolder(checkpoint.kind);
    const bool isListed = listing != nullptr && listing->folder == checkpoint.runFolder;
    for (UnfinishedWork& work : isListed ? workAmong(files, listing->folder, listing->entries)
                                         : findUnfinishedWork(files, checkpoint.runFolder)) {
        if (inRun || work.target == checkpoint.tagFolder.filename().string())
            all.push_back(std::move(work));
    }
    std::vector<Finding> out;
    for (const UnfinishedWork& work : all) {
        if (work.isLink)
            continue; // it is in nobody's way before a job is started
        const std::string name = "`" + toValidUtf8(work.target) + "`";
        std::string message;
        if (work.isPublishing)
            message = "an export to " + name
                + " was interrupted while its files were moved into place: run the same command again";
        else if (work.isFolder)
            message = "unfinished work of a job that writes " + name
                + ": run the same command again to continue it, or remove it with `shardscope clean "
                  "--remove`";
        else
            message = "an unfinished file, which was to become " + name
                + ": remove it with `shardscope clean --remove`";
        out.push_back({code::kWorkFolder, work.isPublishing ? Severity::Error : Severity::Info,
            std::move(message), percentEncode(work.path.string()), {formatBytes(work.bytes)}});
    }
    return out;
}

} // namespace shardscope
