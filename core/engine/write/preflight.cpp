// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/preflight.h"

#include "core/base/text.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/stream/manifest_reader.h"
#include "core/engine/write/export_publish.h"
#include "core/engine/write/replaced_files.h"
#include "core/io/folder_hold.h"
#include "core/io/outage_watch.h"
#include "core/io/published_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr uint64_t kCompareBytes = uint64_t{1} << 20;
constexpr uint64_t kManifestBytes = uint64_t{1} << 34;
constexpr size_t kListedFiles = 8;

bool isPlainName(std::string_view name)
{
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos
        && name.find('\0') == std::string_view::npos;
}

bool isPlainPath(std::string_view path)
{
    while (true) {
        const size_t end = path.find('/');
        if (!isPlainName(path.substr(0, end)))
            return false;
        if (end == std::string_view::npos)
            return true;
        path.remove_prefix(end + 1);
    }
}

bool sameFile(const io::FileInfo& a, const io::FileInfo& b)
{
    return a.identity.device == b.identity.device && a.identity.inode == b.identity.inode;
}

/// Whether `path` or a folder above it is `wanted`. `path` exists.
Result<bool> isAtOrBelow(io::FileSystem& files, const io::Path& path, const io::FileInfo& wanted)
{
    SHARDSCOPE_TRY(io::Path at, files.canonical(path));
    for (;;) {
        SHARDSCOPE_TRY(const io::FileInfo info, files.stat(at));
        if (sameFile(info, wanted))
            return true;
        const io::Path above = at.parent_path();
        if (above == at || above.parent_path().empty()) // the root, of this machine or of another host
            return false;
        at = above;
    }
}

/// The path itself or its nearest existing parent folder.
Result<io::Path> nearestExisting(io::FileSystem& files, const io::Path& path)
{
    io::Path at = std::filesystem::absolute(path).lexically_normal();
    if (!at.has_filename())
        at = at.parent_path();
    for (;;) {
        SHARDSCOPE_TRY(const bool there, exists(files, at));
        if (there || at == at.parent_path())
            return at;
        at = at.parent_path();
    }
}

/// Whether the entry after `nearest` in `destination` exists as a link to nothing.
bool leadsNowhere(io::FileSystem& files, const io::Path& nearest, const io::Path& destination)
{
    const io::Path rest
        = std::filesystem::absolute(destination).lexically_normal().lexically_relative(nearest);
    const auto entries = files.list(nearest);
    return entries && !rest.empty()
        && std::any_of(entries->begin(), entries->end(), [&](const io::DirectoryEntry& entry) {
               // Anything else was created a moment ago, by another process.
               return entry.type == io::FileType::Symlink && entry.name == rest.begin()->string();
           });
}

Result<bool> sameBytes(io::FileSystem& files, const io::Path& left, const io::Path& right, JobContext& job)
{
    SHARDSCOPE_TRY(const auto a, files.openRead(left));
    SHARDSCOPE_TRY(const auto b, files.openRead(right));
    if (a->size() != b->size())
        return false;
    std::vector<uint8_t> here(kCompareBytes);
    std::vector<uint8_t> there(kCompareBytes);
    for (uint64_t offset = 0; offset < a->size(); offset += kCompareBytes) {
        SHARDSCOPE_CHECK(job.poll());
        const size_t count = std::min<uint64_t>(kCompareBytes, a->size() - offset);
        SHARDSCOPE_CHECK(a->readAt(offset, std::span(here).first(count)));
        SHARDSCOPE_CHECK(b->readAt(offset, std::span(there).first(count)));
        if (!std::equal(here.begin(), here.begin() + static_cast<ptrdiff_t>(count), there.begin()))
            return false;
    }
    return true;
}

/// Whether DeepSpeed or this program writes files of this name to tag folders.
bool isCheckpointName(const std::string& path)
{
    static const std::set<std::string> kOthers{
        kManifestName, "repair.json", "zero_to_fp32.py", "zero_to_torch.py", "latest", "latest_universal"};
    if (path.starts_with("zero/")) // a universal checkpoint; parameters with slashes have nested folders
        return path.ends_with(".pt") && std::count(path.begin(), path.end(), '/') >= 2;
    return kOthers.contains(path) || (path.find('/') == std::string::npos && parseCheckpointFileName(path));
}

} // namespace

Error cannotWrite(Error error)
{
    if (error.code == ErrorCode::Unreadable)
        error.code = ErrorCode::WriteFailed;
    return error;
}

Result<bool> exists(io::FileSystem& files, const io::Path& path)
{
    const auto info = files.stat(path);
    if (!info && info.error().code != ErrorCode::NotFound)
        return forward(cannotWrite(info.error()));
    return info.has_value();
}

Status checkReplaceable(io::FileSystem& files, const WritePlan& plan, const io::Path& target)
{
    SHARDSCOPE_TRY(const auto type, io::entryType(files, target));
    if (!type)
        return {};
    if (*type != io::FileType::Directory)
        return fail(ErrorCode::TargetExists,
            *type == io::FileType::Symlink ? "the target is a symbolic link, which --force does not replace"
                                           : "the target is not a folder, and --force replaces only folders",
            target.string(), "choose another folder or tag, or remove it");
    if (!plan.ownsFolder)
        return checkExportReplaceable(files, plan, target);
    std::set<std::string> known;
    for (const PlannedFile& file : plan.files)
        known.insert(file.path);
    const auto text = files.readSmall(target / kManifestName, kManifestBytes);
    if (!text && text.error().code == ErrorCode::Unreadable)
        return forward(cannotWrite(text.error()));
    if (text) {
        if (const auto manifest = parseManifest(*text)) {
            for (const auto& [name, file] : manifest->files)
                known.insert(name);
        }
    }
    const auto isForeign = [&](const std::string& path, io::FileType kind) {
        return kind == io::FileType::Other || (!known.contains(path) && !isCheckpointName(path));
    };
    SHARDSCOPE_TRY(const auto foreign, filesBelow(files, target, isForeign));
    if (foreign.empty())
        return {};
    std::string list;
    for (size_t i = 0; i < std::min(foreign.size(), kListedFiles); ++i)
        list += (i == 0 ? "" : ", ") + toValidUtf8(foreign[i]);
    if (foreign.size() > kListedFiles)
        list += " and " + std::to_string(foreign.size() - kListedFiles) + " more";
    return fail(ErrorCode::TargetExists,
        "the target has files that neither DeepSpeed nor Shardscope writes: " + list, target.string(),
        "move them away, or choose another folder or tag");
}

Result<bool> isOccupied(io::FileSystem& files, const WritePlan& plan, const io::Path& target)
{
    SHARDSCOPE_TRY(const bool there, exists(files, target));
    if (!there || plan.ownsFolder)
        return there;
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(target));
    if (info.type != io::FileType::Directory)
        return true;
    return hasExportedNames(files, plan, target);
}

namespace {

/// Usage if the tag has the name of a file next to it, or of one that is read there.
Status checkTagName(const WritePlan& plan)
{
    const std::string tag = plan.targetName;
    const auto isTag = [&](const OutputFile& file) { return file.path == tag; };
    const std::vector<OutputFile> scripts = plan.runFolderFiles;
    const std::vector<PlannedFile>& planned = plan.files;
    static const std::set<std::string> kNames{
        "latest", "latest_universal", "zero_to_fp32.py", "zero_to_torch.py"};
    const bool taken = kNames.contains(tag) || tag == plan.pointerName
        || std::any_of(scripts.begin(), scripts.end(), isTag)
        || std::any_of(planned.begin(), planned.end(),
            [&](const PlannedFile& file) { return file.path == std::string(kNextToTag) + tag; });
    if (taken)
        return fail(ErrorCode::Usage,
            "the tag cannot have the name '" + tag + "': a file of this name is next to it in the run folder",
            {}, "choose another name with --tag-out");
    return {};
}

} // namespace

Status checkPlanNames(const WritePlan& plan)
{
    const auto refuse = [](const std::string& what) {
        return fail(ErrorCode::Internal, "the plan names a file that cannot be written: '" + what + "'");
    };
    if (!isPlainName(plan.targetName))
        return refuse(plan.targetName);
    if (plan.ownsFolder)
        SHARDSCOPE_CHECK(checkTagName(plan));
    if (!plan.pointerName.empty() && (!isPlainName(plan.pointerName) || plan.pointerName == plan.targetName))
        return refuse(plan.pointerName);
    std::unordered_set<std::string> taken{kManifestName};
    std::unordered_set<std::string> names{plan.targetName, plan.pointerName};
    for (const PlannedFile& file : plan.files) {
        if (isNextToTag(file.path)) {
            const std::string name = file.path.substr(kNextToTag.size());
            if (!isPlainName(name) || !names.insert(name).second)
                return refuse(file.path);
        } else if (!isPlainPath(file.path) || !taken.insert(file.path).second) {
            return refuse(file.path);
        }
    }
    for (const PlannedFile& file : plan.files) {
        const std::string unfinished = file.path + ".tmp"; // its name while it is written
        if (taken.contains(unfinished)
            || (isNextToTag(file.path) && names.contains(unfinished.substr(kNextToTag.size()))))
            return refuse(unfinished);
    }
    for (const OutputFile& file : plan.runFolderFiles) {
        if (!isPlainName(file.path) || !names.insert(file.path).second)
            return refuse(file.path);
    }
    return {};
}

Status checkRunFolderFiles(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& made, JobContext& job)
{
    for (const PlannedFile& file : plan.files) {
        if (!isNextToTag(file.path))
            continue;
        const std::string name = file.path.substr(kNextToTag.size());
        SHARDSCOPE_TRY(const bool there, exists(files, destination / name));
        if (!there)
            continue;
        if (!made.empty()) {
            SHARDSCOPE_TRY(const bool waits, exists(files, made / name));
            if (!waits)
                continue; // the same file
        }
        SHARDSCOPE_TRY(const io::FileInfo old, files.stat(destination / name));
        bool same = old.type == io::FileType::Regular && old.identity.bytes == file.bytes;
        if (same && !made.empty()) {
            SHARDSCOPE_TRY(same, sameBytes(files, destination / name, made / name, job));
        }
        if (!same)
            return fail(ErrorCode::TargetExists,
                "the target folder has another file with this name, from another checkpoint",
                (destination / name).string(), "choose another folder, or replace the file with --force");
    }
    return {};
}

Status checkPlaces(io::FileSystem& files, const io::Path& destination, const io::Path& sourceRunFolder)
{
    if (destination.empty())
        return fail(ErrorCode::Usage, "no target folder was given");
    SHARDSCOPE_TRY(const io::Path nearest, nearestExisting(files, destination));
    SHARDSCOPE_TRY(const bool there, exists(files, destination));
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(nearest));
    if (info.type != io::FileType::Directory)
        return fail(ErrorCode::Usage,
            there ? "the target is not a folder" : "the target is below a file: " + nearest.string(),
            destination.string(), "choose a folder that exists or can be created");
    if (!there && leadsNowhere(files, nearest, destination))
        return fail(ErrorCode::WriteFailed, "the target path contains a broken link", destination.string(),
            "remove the link, or create its target folder");
    if (sourceRunFolder.empty())
        return {};
    const std::string hint = "choose a folder outside the source";
    SHARDSCOPE_TRY(const io::FileInfo source, files.stat(sourceRunFolder));
    SHARDSCOPE_TRY(const bool inside, isAtOrBelow(files, nearest, source));
    if (inside)
        return fail(ErrorCode::Usage, "the target is inside the source, or is the source",
            destination.string(), hint);
    if (there) {
        SHARDSCOPE_TRY(const io::FileInfo target, files.stat(destination));
        SHARDSCOPE_TRY(const bool around, isAtOrBelow(files, sourceRunFolder, target));
        if (around)
            return fail(ErrorCode::Usage, "the target contains the source", destination.string(), hint);
    }
    return {};
}

namespace {

/// The folder of a source's checkpoint: the source's path without its name in the checkpoint.
io::Path checkpointFolderOf(const PlanSource& source)
{
    io::Path folder = source.path.parent_path();
    const io::Path inside = io::Path(source.name).parent_path();
    if (!source.path.string().ends_with("/" + io::Path(source.name).string()))
        return folder;
    for (auto part = inside.begin(); part != inside.end(); ++part)
        folder = folder.parent_path();
    return folder;
}

} // namespace

Status checkFurtherPlaces(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& sourceRunFolder)
{
    if (sourceRunFolder.empty())
        return {};
    SHARDSCOPE_TRY(const io::Path known, files.canonical(sourceRunFolder)); // checkPlaces() checked it
    std::set<io::Path> checked;
    std::set<io::Path> seen; // the files of a checkpoint are in few folders
    for (const PlanSource& source : plan.sources) {
        for (const io::Path& asked : {source.path.parent_path(), checkpointFolderOf(source)}) {
            if (!seen.insert(asked).second)
                continue;
            const auto folder = files.canonical(asked); // a link may lead outside the run folder
            if (!folder)
                continue; // a file in a skeleton, or a missing one: reading it reports this
            const io::Path inside = folder->lexically_relative(known);
            const bool further = inside.empty() || *inside.begin() == "..";
            if (further && checked.insert(*folder).second)
                SHARDSCOPE_CHECK(checkPlaces(files, destination, *folder));
        }
    }
    return {};
}

namespace {

/// Usage if the job reads `replaced`, a file or folder that it would replace, or a file in it. Files are
/// compared by device and inode, so links and bind mounts are detected.
Status checkNotRead(io::FileSystem& files, const WritePlan& plan, const io::Path& replaced)
{
    const auto there = files.stat(replaced);
    if (!there)
        return {};
    std::set<io::Path> checked;
    for (const PlanSource& source : plan.sources) {
        const auto path = files.canonical(source.path);
        const auto info = path ? files.stat(*path) : forward(path.error());
        if (!info)
            continue;
        bool isRead = sameFile(*info, *there);
        if (!isRead && checked.insert(path->parent_path()).second) {
            SHARDSCOPE_TRY(isRead, isAtOrBelow(files, path->parent_path(), *there));
        }
        if (isRead)
            return fail(ErrorCode::Usage,
                "this job reads the target: it is, or contains, the source file " + source.path.string(),
                replaced.string(), "choose another folder or tag");
    }
    return {};
}

} // namespace

Status checkTargetPlaces(io::FileSystem& files, const WritePlan& plan, const io::Path& destination,
    const io::Path& sourceRunFolder)
{
    const io::OutageWatch watch; // what cannot be looked at may be what the job reads
    SHARDSCOPE_CHECK(checkPlaces(files, destination, {}));
    const io::Path kept = plan.ownsFolder ? destination : destination / plan.targetName;
    SHARDSCOPE_CHECK(checkPlaces(files, kept, sourceRunFolder));
    SHARDSCOPE_CHECK(checkFurtherPlaces(files, plan, kept, sourceRunFolder));
    SHARDSCOPE_CHECK(checkNotRead(files, plan, destination / plan.targetName));
    for (const PlannedFile& file : plan.files) {
        if (isNextToTag(file.path))
            SHARDSCOPE_CHECK(checkNotRead(files, plan, destination / file.path.substr(kNextToTag.size())));
    }
    return watch.status();
}

Result<bool> isInFolder(io::FileSystem& files, const io::Path& path, const io::Path& folder)
{
    SHARDSCOPE_TRY(const io::FileInfo wanted, files.stat(folder));
    return isAtOrBelow(files, path, wanted);
}

Result<bool> isSameFile(io::FileSystem& files, const io::Path& a, const io::Path& b)
{
    const auto left = files.stat(a);
    const auto right = files.stat(b);
    return left && right && sameFile(*left, *right);
}

Status checkWritable(io::FileSystem& files, const io::Path& folder)
{
    SHARDSCOPE_TRY(const io::Path nearest, nearestExisting(files, folder));
    return io::checkWritable(nearest);
}

Status checkSpace(io::FileSystem& files, const io::Path& folder, uint64_t bytes, uint64_t count)
{
    SHARDSCOPE_TRY(const io::Path nearest, nearestExisting(files, folder));
    SHARDSCOPE_TRY(const io::Space space, files.space(nearest));
    // One percent and a small constant for folders, journal and manifest.
    const uint64_t needed = bytes + bytes / 100 + (uint64_t{1} << 20);
    if (space.freeBytes < needed)
        return fail(ErrorCode::NoSpace,
            "not enough free space: for " + formatCount(bytes) + " bytes of output (" + formatBytes(bytes)
                + "), " + formatCount(needed) + " are needed, " + formatCount(space.freeBytes) + " ("
                + formatBytes(space.freeBytes) + ") are free, " + formatCount(needed - space.freeBytes)
                + " are missing",
            folder.string(), "free some space there, or choose another folder");
    if (space.freeFiles < count + 16)
        return fail(ErrorCode::NoSpace,
            "the file system has no room for " + formatCount(count) + " more files; "
                + formatCount(space.freeFiles) + " are left",
            folder.string(), "remove some files there, or choose another folder");
    return {};
}

uint64_t sharedBytes(io::FileSystem& files, const WritePlan& plan, const io::Path& folder,
    const std::function<bool(size_t file)>& isDone)
{
    const auto nearest = nearestExisting(files, folder);
    std::map<io::Path, bool> canShare; // by folder: other folders may be on other disks
    uint64_t out = 0;
    for (size_t i = 0; nearest && i < plan.files.size(); ++i) {
        const PlannedFile& file = plan.files[i];
        if (!file.copyOf || isDone(i))
            continue;
        const io::Path& source = plan.sources[*file.copyOf].path;
        const auto known = canShare.find(source.parent_path());
        const bool shares = known != canShare.end() ? known->second : files.canShareBytes(source, *nearest);
        canShare.emplace(source.parent_path(), shares);
        out += shares ? file.bytes : 0;
    }
    return out;
}

std::optional<uint64_t> freeBytesAt(io::FileSystem& files, const io::Path& folder)
{
    const auto nearest = nearestExisting(files, folder);
    const auto space = nearest ? files.space(*nearest) : forward(nearest.error());
    return space ? std::optional(space->freeBytes) : std::nullopt;
}

Result<std::vector<io::Path>> missingFolders(io::FileSystem& files, const io::Path& folder)
{
    SHARDSCOPE_TRY(const io::Path nearest, nearestExisting(files, folder));
    io::Path target = std::filesystem::absolute(folder).lexically_normal();
    if (!target.has_filename())
        target = target.parent_path();
    std::vector<io::Path> out;
    for (io::Path at = target; at != nearest; at = at.parent_path())
        out.push_back(at);
    return out;
}

Status makeDurableFolder(io::FileSystem& files, const io::Path& folder)
{
    SHARDSCOPE_TRY(const auto missing, missingFolders(files, folder));
    if (missing.empty())
        return {};
    SHARDSCOPE_CHECK(files.makeDirectories(missing.front()));
    for (const io::Path& made : missing)
        SHARDSCOPE_CHECK(files.syncDirectory(made.parent_path()));
    return {};
}

} // namespace shardscope
