// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/clean.h"

#include "core/engine/stream/journal.h"
#include "core/engine/write/lease.h"
#include "core/engine/write/work_content.h"
#include "core/io/folder_hold.h"
#include "core/io/outage_watch.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace shardscope {

namespace {

constexpr uint64_t kJournalLimit = uint64_t{1} << 30;

bool hasEntry(io::FileSystem& files, const io::Path& folder, std::string_view name)
{
    const auto entries = files.list(folder);
    return entries && std::ranges::find(*entries, name, &io::DirectoryEntry::name) != entries->end();
}

/// Whether part of the output may be published already, with the rest only in the work folder.
bool isHalfPublished(io::FileSystem& files, const io::Path& folder, const UnfinishedWork& work)
{
    if (hasEntry(files, work.path, "publishing"))
        return true;
    const auto runFiles = files.list(work.path / "beside");
    const bool holdsMore = hasEntry(files, work.path, "pointer") || (runFiles && !runFiles->empty());
    if (!holdsMore || !hasEntry(files, folder, work.target))
        return false;
    const auto journal = files.readSmall(work.path / "journal", kJournalLimit);
    return !journal || parseJournal(*journal).seal.has_value();
}

/// Whether another process works in the folder, or on a part of it. `isLocked` as in Lease::take().
bool isLeased(io::FileSystem& files, const io::Path& folder, bool isLocked)
{
    if (!Lease::holder(files, folder, isLocked).empty())
        return true;
    const auto parts = files.list(folder / "parts");
    return parts && std::ranges::any_of(*parts, [&](const io::DirectoryEntry& part) {
        return !Lease::holder(files, folder / "parts" / part.name, isLocked).empty();
    });
}

bool isRunning(io::FileSystem& files, int64_t process)
{
    return files.stat("/proc/" + std::to_string(process)).has_value();
}

std::optional<uint64_t> ageOf(const UnfinishedWork& work)
{
    if (work.modifiedNs == 0)
        return std::nullopt; // a link is not looked into
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const int64_t nowNs = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    return static_cast<uint64_t>(std::max<int64_t>(0, (nowNs - work.modifiedNs) / 1'000'000'000));
}

/// Whether the work is a link, or belongs to another user. `place` is its folder.
Result<bool> isForeign(const io::FolderHold& place, const UnfinishedWork& work)
{
    if (work.isLink)
        return true;
    if (work.isFolder) {
        const auto hold = io::holdFolder(work.path, io::HoldKind::Own);
        if (!hold && hold.error().code != ErrorCode::NoPermission)
            return forward(hold.error());
        return !hold;
    }
    SHARDSCOPE_TRY(const io::Ownership whose, place.ownership(work.path));
    return !whose.isOwn;
}

/// Holds its lock, so that no job can start.
Status removeWorkFolder(io::FileSystem& files, const io::Path& folder, CleanEntry& entry)
{
    SHARDSCOPE_TRY(const auto hold, io::holdFolder(entry.work.path, io::HoldKind::Own));
    const io::OutageWatch watch;
    const auto lock = files.lock(entry.work.path / "lock");
    const bool isBusy = !lock && lock.error().code == ErrorCode::Busy;
    if (isBusy || (lock && isLeased(files, entry.work.path, *lock != nullptr))) {
        entry.state = CleanEntry::State::InUse;
        return {};
    }
    if (!lock)
        return forward(lock.error());
    // A job may have run since the folder was examined.
    if (isHalfPublished(files, folder, entry.work)) {
        entry.state = CleanEntry::State::HalfPublished;
        return {};
    }
    SHARDSCOPE_CHECK(watch.status());
    return removeWorkTree(files, entry.work.path); // by its handle
}

Status removeEntry(
    io::FileSystem& files, const io::FolderHold& place, const io::Path& folder, CleanEntry& entry)
{
    SHARDSCOPE_TRY(const bool foreign, isForeign(place, entry.work));
    if (foreign) {
        entry.state = CleanEntry::State::Foreign;
        return {};
    }
    SHARDSCOPE_CHECK(
        entry.work.isFolder ? removeWorkFolder(files, folder, entry) : files.removeFile(entry.work.path));
    if (entry.state == CleanEntry::State::Abandoned)
        entry.state = CleanEntry::State::Removed;
    return {};
}

/// Whether abandoned work is removed; nothing is, if empty.
using MayRemove = std::function<bool(const UnfinishedWork&)>;

Result<std::vector<CleanEntry>> clean(
    io::FileSystem& files, const io::Path& folder, const MayRemove& mayRemove, JobContext& job)
{
    const io::OutageWatch watch;
    SHARDSCOPE_CHECK(files.list(folder));
    SHARDSCOPE_TRY(const auto place, io::holdFolder(folder, io::HoldKind::Named));
    std::vector<CleanEntry> out;
    for (UnfinishedWork& work : findUnfinishedWork(files, folder)) {
        SHARDSCOPE_CHECK(job.poll());
        CleanEntry& entry = out.emplace_back();
        entry.work = std::move(work);
        entry.ageSeconds = ageOf(entry.work);
        SHARDSCOPE_TRY(const bool foreign, isForeign(*place, entry.work));
        const bool inUse = !foreign
            && (entry.work.isFolder ? isWorkFolderInUse(files, entry.work.path)
                                    : isRunning(files, entry.work.process));
        SHARDSCOPE_CHECK(watch.status()); // who cannot be seen may still run
        if (foreign)
            entry.state = CleanEntry::State::Foreign;
        else if (inUse)
            entry.state = CleanEntry::State::InUse;
        else if (entry.work.isFolder && isHalfPublished(files, folder, entry.work))
            entry.state = CleanEntry::State::HalfPublished;
        else if (mayRemove && mayRemove(entry.work)) {
            SHARDSCOPE_CHECK(removeEntry(files, *place, folder, entry));
        }
    }
    if (mayRemove && !out.empty())
        SHARDSCOPE_CHECK(files.syncDirectory(folder));
    SHARDSCOPE_CHECK(watch.status());
    return out;
}

} // namespace

bool isWorkFolderInUse(io::FileSystem& files, const io::Path& workFolder)
{
    if (!hasEntry(files, workFolder, "lock"))
        return false; // locking would create the file
    const auto hold = io::holdFolder(workFolder, io::HoldKind::Own);
    if (!hold)
        return isLeased(files, workFolder, false);
    const auto lock = files.lock(workFolder / "lock");
    if (!lock && lock.error().code == ErrorCode::Busy)
        return true;
    return isLeased(files, workFolder, lock && *lock);
}

Result<std::vector<CleanEntry>> cleanFolder(
    io::FileSystem& files, const io::Path& folder, bool removes, JobContext& job)
{
    return clean(
        files, folder, removes ? MayRemove([](const UnfinishedWork&) { return true; }) : nullptr, job);
}

Result<std::vector<CleanEntry>> cleanShown(
    io::FileSystem& files, const io::Path& folder, const std::vector<UnfinishedWork>& shown, JobContext& job)
{
    const auto wasShown = [&](const UnfinishedWork& work) {
        return std::ranges::any_of(shown, [&](const UnfinishedWork& each) {
            return each.path == work.path && each.bytes == work.bytes && each.modifiedNs == work.modifiedNs;
        });
    };
    return clean(files, folder, wasShown, job);
}

Result<CleanEntry::State> discardWorkFolder(io::FileSystem& files, const io::Path& workFolder)
{
    const io::Path folder = workFolder.parent_path();
    SHARDSCOPE_TRY(const auto place, io::holdFolder(folder, io::HoldKind::Named));
    for (UnfinishedWork& work : findUnfinishedWork(files, folder)) {
        if (work.path != workFolder)
            continue;
        CleanEntry entry;
        entry.work = std::move(work);
        SHARDSCOPE_CHECK(removeEntry(files, *place, folder, entry));
        SHARDSCOPE_CHECK(files.syncDirectory(folder));
        return entry.state;
    }
    return CleanEntry::State::Removed;
}

} // namespace shardscope
