// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/work_content.h"

#include "core/base/text.h"
#include "core/checkpoint/folder/work_folders.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/write/preflight.h"
#include "core/engine/write/work_folder.h"
#include "core/io/overlapping_calls.h"

#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr std::string_view kUnfinished = ".tmp";
constexpr const char* kMoveAway = "move it away, or choose another folder";

/// A file that was removed while a process of this machine has it open, on NFS. It goes away by itself.
bool isRemovedOnNfs(std::string_view name)
{
    return name.starts_with(".nfs");
}

tl::unexpected<Error> foreign(const io::Path& path, io::FileType type, const Hint& hint)
{
    const std::string what = type == io::FileType::Symlink ? " (a symbolic link)"
        : type == io::FileType::Other                      ? " (a FIFO, socket or device)"
        : type == io::FileType::Directory                  ? " (a folder)"
                                                           : "";
    return fail(ErrorCode::NoPermission,
        "the work folder has something that this job did not put there: "
            + toValidUtf8(path.filename().string()) + what,
        path.string(), hint);
}

Status checkOwn(const io::FolderHold& hold, const io::Path& folder)
{
    const auto whose = hold.ownership(folder);
    if (!whose && whose.error().code == ErrorCode::NotFound)
        return {}; // removed meanwhile
    if (!whose)
        return forward(cannotWrite(whose.error()));
    if (!whose->isOwn)
        return fail(ErrorCode::NoPermission,
            "a folder in the work folder belongs to user " + std::to_string(whose->user), folder.string(),
            "have its owner remove it, or choose another folder");
    return {};
}

} // namespace

Status checkWorkEntries(io::FileSystem& files, const io::FolderHold& hold, const io::Path& workFolder)
{
    const auto entries = files.list(workFolder);
    if (!entries)
        return forward(cannotWrite(entries.error()));
    for (const io::DirectoryEntry& entry : *entries) {
        const io::Path path = workFolder / entry.name;
        if (isRemovedOnNfs(entry.name))
            continue;
        if (!isWorkFolderEntry(entry))
            return foreign(path, entry.type, kMoveAway);
        if (entry.type != io::FileType::Directory || entry.name == "files") // which may be a replaced target
            continue;
        SHARDSCOPE_CHECK(checkOwn(hold, path));
    }
    return {};
}

Status checkPartEntries(io::FileSystem& files, const io::FolderHold& hold, const io::Path& partsFolder)
{
    const auto parts = files.list(partsFolder);
    if (!parts)
        return parts.error().code == ErrorCode::NotFound ? Status() : forward(cannotWrite(parts.error()));
    for (const io::DirectoryEntry& part : *parts) {
        const io::Path folder = partsFolder / part.name;
        if (part.type != io::FileType::Directory)
            return foreign(folder, part.type, kMoveAway);
        SHARDSCOPE_CHECK(checkOwn(hold, folder));
        const auto entries = files.list(folder);
        if (!entries)
            return forward(cannotWrite(entries.error()));
        for (const io::DirectoryEntry& entry : *entries) {
            const bool isKnown = entry.type == io::FileType::Directory ? entry.name == kLeaseFolder
                                                                       : isWorkFolderEntry(entry);
            if (!isKnown && !isRemovedOnNfs(entry.name))
                return foreign(folder / entry.name, entry.type, kMoveAway);
            if (entry.type == io::FileType::Directory)
                SHARDSCOPE_CHECK(checkOwn(hold, folder / entry.name));
        }
    }
    return {};
}

std::vector<io::Path> outputFolders(const WritePlan& plan, const io::Path& workFolder)
{
    const io::Path root = WorkFolder::placeIn(workFolder, {}).parent_path();
    std::set<io::Path> folders{root}; // a parent sorts before its contents
    for (const PlannedFile& file : plan.files) {
        if (isNextToTag(file.path))
            continue;
        io::Path parent = io::Path(file.path).parent_path();
        for (; !parent.empty(); parent = parent.parent_path())
            folders.insert(root / parent);
    }
    return {folders.begin(), folders.end()};
}

Result<std::vector<io::Path>> workOutputs(
    io::FileSystem& files, const WritePlan& plan, const io::Path& workFolder, OutputNames names)
{
    std::vector<std::string> planned{kManifestName};
    for (const PlannedFile& file : plan.files)
        planned.push_back(file.path);
    for (const OutputFile& file : plan.runFolderFiles)
        planned.push_back(std::string(kNextToTag) + file.path);
    std::unordered_set<std::string> known;
    for (const std::string& path : planned) {
        std::string place = WorkFolder::placeIn(workFolder, path).string();
        if (names == OutputNames::AlsoUnfinished)
            known.insert(place + std::string(kUnfinished));
        known.insert(std::move(place));
    }
    const std::vector<io::Path> made = outputFolders(plan, workFolder);
    std::set<io::Path> folders(made.begin(), made.end());
    folders.insert(WorkFolder::placeIn(workFolder, std::string(kNextToTag) + "x").parent_path());
    std::vector<io::Path> out;
    for (const io::Path& folder : folders) {
        const auto entries = files.list(folder);
        if (!entries && entries.error().code == ErrorCode::NotFound)
            continue;
        if (!entries)
            return forward(cannotWrite(entries.error()));
        for (const io::DirectoryEntry& entry : *entries) {
            io::Path path = folder / entry.name;
            const bool isFolder = entry.type == io::FileType::Directory && folders.contains(path);
            if (entry.type == io::FileType::Regular && known.contains(path.string()))
                out.push_back(std::move(path));
            else if (!isFolder && !isRemovedOnNfs(entry.name))
                return foreign(
                    path, entry.type, "move it away, or discard the job with " + Hint::add("--restart"));
        }
    }
    return out;
}

Status checkFinishedFiles(const io::FolderHold& hold, const std::vector<io::Path>& finished)
{
    std::vector<Result<io::Ownership>> all(finished.size());
    io::overlapCalls(all.size(), [&](size_t i) { all[i] = hold.ownership(finished[i]); });
    for (size_t i = 0; i < all.size(); ++i) {
        if (!all[i])
            return forward(cannotWrite(all[i].error()));
        if (all[i]->hasOtherNames || !all[i]->isOwn)
            return fail(ErrorCode::NoPermission,
                all[i]->hasOtherNames ? "a finished file has another name elsewhere (a hard link)"
                                      : "a finished file belongs to user " + std::to_string(all[i]->user),
                finished[i].string(), "write it again with " + Hint::add("--restart"));
    }
    return {};
}

Status removeWorkTree(io::FileSystem& files, const io::Path& workFolder)
{
    SHARDSCOPE_CHECK(files.removeTree(workFolder / "plan"));
    SHARDSCOPE_TRY(const auto entries, files.list(workFolder));
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.name != "lock")
            SHARDSCOPE_CHECK(files.removeTree(workFolder / entry.name));
    }
    return files.removeTree(workFolder);
}

} // namespace shardscope
