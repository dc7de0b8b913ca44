// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/export_publish.h"

#include "core/base/sha256.h"
#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/stream/manifest_reader.h"
#include "core/engine/verify/verify_others.h"
#include "core/engine/write/folder_entries.h"
#include "core/engine/write/preflight.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

constexpr uint64_t kManifestBytes = uint64_t{1} << 34;

/// The paths that the plan writes, the manifest last.
std::vector<std::string> pathsOf(const WritePlan& plan)
{
    std::vector<std::string> out;
    for (const PlannedFile& file : plan.files)
        out.push_back(file.path);
    out.emplace_back(kManifestName);
    return out;
}

/// Whether a path from a manifest stays in its folder.
bool staysInside(const io::Path& path)
{
    for (const io::Path& part : path) {
        if (part == ".." || part == "." || part.empty())
            return false;
    }
    return path.is_relative() && !path.empty();
}

/// Files in `target` that the manifest lists, with the listed size, and that the plan does not write.
Result<std::vector<std::string>> obsoleteFiles(
    io::FileSystem& files, const WritePlan& plan, const io::Path& manifestFile, const io::Path& target)
{
    std::vector<std::string> out;
    const auto text = files.readSmall(manifestFile, kManifestBytes);
    if (!text && text.error().code != ErrorCode::NotFound)
        return forward(text.error());
    const auto manifest = text ? parseManifest(*text) : fail(ErrorCode::NotFound, "no manifest");
    if (!manifest)
        return out; // no manifest of this program: its files are not ours
    const std::vector<std::string> paths = pathsOf(plan);
    const std::set<std::string> written(paths.begin(), paths.end());
    FolderEntries entries(files, target);
    for (const auto& [path, listed] : manifest->files) {
        if (written.contains(path) || !staysInside(path))
            continue;
        SHARDSCOPE_TRY(const auto type, entries.typeOf(path));
        if (type != io::FileType::Regular)
            continue;
        SHARDSCOPE_TRY(const io::FileInfo info, files.stat(target / path));
        if (info.identity.bytes == listed.bytes)
            out.push_back(path);
    }
    return out;
}

/// Whether a file with these bytes is at `path`.
Result<bool> hasSize(io::FileSystem& files, const io::Path& path, uint64_t bytes)
{
    SHARDSCOPE_TRY(const bool there, exists(files, path));
    if (!there)
        return false;
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(path));
    return info.type == io::FileType::Regular && info.identity.bytes == bytes;
}

/// Moves the manifest of the replaced export from the target to the work folder.
Status withdrawManifest(io::FileSystem& files, const WorkFolder& work, const io::Path& target)
{
    SHARDSCOPE_TRY(const bool waits, exists(files, work.filesFolder() / kManifestName));
    SHARDSCOPE_TRY(const bool there, exists(files, target / kManifestName));
    if (!waits || !there)
        return {}; // the target has the new manifest or none
    SHARDSCOPE_CHECK(files.rename(target / kManifestName, work.replacedManifest()));
    SHARDSCOPE_CHECK(files.syncDirectory(work.path()));
    return files.syncDirectory(target);
}

Status moveFile(io::FileSystem& files, const io::Path& from, const io::Path& to, bool replace)
{
    SHARDSCOPE_TRY(const bool waits, exists(files, from));
    if (!waits)
        return {}; // moved by an earlier run
    if (replace)
        return files.rename(from, to);
    Status moved = files.renameNoReplace(from, to);
    if (!moved && moved.error().code == ErrorCode::TargetExists)
        return fail(ErrorCode::TargetExists, "a file with this name was created in the target meanwhile",
            to.string(), "move it away and run the same command, or replace it with --force");
    return moved;
}

} // namespace

Result<std::vector<std::string>> replacedByExport(
    io::FileSystem& files, const WritePlan& plan, const io::Path& target)
{
    SHARDSCOPE_TRY(std::vector<std::string> out, obsoleteFiles(files, plan, target / kManifestName, target));
    FolderEntries entries(files, target);
    for (const std::string& path : pathsOf(plan)) {
        SHARDSCOPE_TRY(const auto type, entries.typeOf(path));
        if (type)
            out.push_back(path);
    }
    std::sort(out.begin(), out.end());
    return out;
}

Result<bool> hasExportedNames(io::FileSystem& files, const WritePlan& plan, const io::Path& target)
{
    FolderEntries entries(files, target);
    for (const std::string& path : pathsOf(plan)) {
        for (io::Path at = path; !at.empty(); at = at.parent_path()) {
            SHARDSCOPE_TRY(const auto type, entries.typeOf(at));
            if (type && (at == path || *type != io::FileType::Directory))
                return true;
        }
    }
    return false;
}

Status checkExportReplaceable(io::FileSystem& files, const WritePlan& plan, const io::Path& target)
{
    FolderEntries entries(files, target);
    for (const std::string& path : pathsOf(plan)) {
        for (io::Path at = path; !at.empty(); at = at.parent_path()) {
            const io::FileType wanted = at == path ? io::FileType::Regular : io::FileType::Directory;
            SHARDSCOPE_TRY(const auto type, entries.typeOf(at));
            if (type && *type != wanted)
                return fail(ErrorCode::TargetExists,
                    wanted == io::FileType::Regular
                        ? "this path of the target is not a regular file, and --force replaces only "
                          "regular files"
                        : "the target needs a folder here, but the path is not a folder",
                    (target / at).string(), "move it away, or choose another folder");
        }
    }
    return {};
}

Result<bool> isPublishing(io::FileSystem& files, const WritePlan& plan, const WorkFolder& work,
    const io::Path& target, JobContext& job)
{
    if (!work.journal().seal || !work.holdsThisPlan())
        return false;
    SHARDSCOPE_TRY(const bool begun, exists(files, work.publishingMark()));
    if (!begun)
        return false;
    const auto text = files.readSmall(work.filesFolder() / kManifestName, kManifestBytes);
    if (!text && text.error().code != ErrorCode::NotFound)
        return forward(text.error());
    if (!text || sha256Of(*text) != work.journal().seal->manifestSha256)
        return false;
    SHARDSCOPE_TRY(const Manifest manifest, parseManifest(*text));
    for (const PlannedFile& file : plan.files) {
        const io::Path inWork = work.placeOf(file.path);
        SHARDSCOPE_TRY(const bool waits, exists(files, inWork));
        const io::Path place = waits ? inWork : target / file.path;
        SHARDSCOPE_TRY(const bool there, hasSize(files, place, file.bytes));
        const auto sealed = manifest.files.find(file.path);
        if (!there || sealed == manifest.files.end())
            return false; // removed by another program: it must be written again
        SHARDSCOPE_TRY(const ManifestFile found, readManifestFile(files, place, manifest.digestKind(), job));
        if (found.digest != sealed->second.digest)
            return false; // changed by another program
    }
    return true;
}

Status publishIntoFolder(
    io::FileSystem& files, const WritePlan& plan, WorkFolder& work, const io::Path& target, bool replace)
{
    SHARDSCOPE_CHECK(work.markPublishing());
    SHARDSCOPE_CHECK(withdrawManifest(files, work, target));
    std::set<io::Path> folders{target};
    for (const PlannedFile& file : plan.files) {
        const io::Path parent = (target / file.path).parent_path();
        if (folders.insert(parent).second)
            SHARDSCOPE_CHECK(makeDurableFolder(files, parent));
        SHARDSCOPE_CHECK(moveFile(files, work.placeOf(file.path), target / file.path, replace));
    }
    SHARDSCOPE_TRY(const auto obsolete, obsoleteFiles(files, plan, work.replacedManifest(), target));
    for (const std::string& path : obsolete) {
        SHARDSCOPE_CHECK(files.removeFile(target / path));
        folders.insert((target / path).parent_path());
    }
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
        SHARDSCOPE_CHECK(files.syncDirectory(*folder));
    // Last: without its manifest the folder is treated as incomplete.
    SHARDSCOPE_CHECK(moveFile(files, work.filesFolder() / kManifestName, target / kManifestName, replace));
    return files.syncDirectory(target);
}

} // namespace shardscope
