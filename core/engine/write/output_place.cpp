// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/output_place.h"

#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/open/open.h"
#include "core/engine/write/preflight.h"

#include <string>
#include <vector>

namespace shardscope {

namespace {

/// What a path leads to. Folders are protected with all that is in them.
struct Protected {
    std::vector<io::Path> folders;
    std::vector<io::Path> files;
};

/// Files without a run folder: a file of weights, and those that belong to it.
Status addFiles(io::FileSystem& files, const io::Path& path, Protected& out, JobContext& job)
{
    OpenOptions options;
    options.depth = OpenDepth::Structure;
    const auto opened = openCheckpoint(files, path, options, job);
    if (!opened && opened.error().code == ErrorCode::Cancelled)
        return forward(opened.error());
    if (opened) {
        for (const CheckpointFile& file : opened->checkpoint->files)
            out.files.push_back(file.path);
    }
    return {};
}

/// Whether the parent of a tag folder is more than a folder with one tag in it, such as a home folder.
bool isRunFolder(io::FileSystem& files, const Discovery& found, const io::Path& path)
{
    return found.runFolder == path || found.latest || found.tags.size() > 1
        || files.stat(found.runFolder / "latest_universal");
}

Result<Protected> placesOf(io::FileSystem& files, const io::Path& source, JobContext& job)
{
    Protected out;
    const auto path = files.canonical(source);
    if (!path)
        return out; // opening it says why
    const auto info = files.stat(*path);
    const auto found = discover(files, *path, {}, job);
    if (!found && found.error().code == ErrorCode::Cancelled)
        return forward(found.error());
    const bool isFolder = info && info->type == io::FileType::Directory;
    if (!isFolder)
        out.files.push_back(*path);
    if (!found) {
        if (isFolder && found.error().code == ErrorCode::Unreadable)
            out.folders.push_back(*path);
        return out;
    }
    if (found->runFolder.empty()) {
        if (isFolder)
            out.folders.push_back(*path);
        else
            SHARDSCOPE_CHECK(addFiles(files, *path, out, job));
        return out;
    }
    if (!found->tagFolder.empty())
        out.folders.push_back(found->tagFolder);
    if (isRunFolder(files, *found, *path))
        out.folders.push_back(found->runFolder);
    const bool isOutputFolder = found->runFolder.parent_path() == *path;
    for (const std::string& tag : found->tags) { // the numbered checkpoints are among them
        if (isOutputFolder)
            out.folders.push_back(*path / tag);
    }
    return out;
}

/// The file or the nearest folder above it that exists. Not normalized: after a link, ".." leads elsewhere.
io::Path nearestThere(io::FileSystem& files, const io::Path& file)
{
    io::Path at = std::filesystem::absolute(file);
    while (!files.stat(at) && at != at.parent_path())
        at = at.parent_path();
    return at;
}

} // namespace

Status checkOutsideSources(
    io::FileSystem& files, const io::Path& file, std::span<const io::Path> sources, JobContext& job)
{
    const io::Path nearest = nearestThere(files, file);
    for (const io::Path& source : sources) {
        SHARDSCOPE_TRY(const Protected places, placesOf(files, source, job));
        for (const io::Path& folder : places.folders) {
            if (!files.stat(folder))
                continue; // a tag inside one of the numbered checkpoints
            SHARDSCOPE_TRY(const bool inside, isInFolder(files, nearest, folder));
            if (inside)
                return fail(ErrorCode::Usage,
                    "the file would be written inside the checkpoint or run " + folder.string(),
                    file.string(), "choose a path outside of it");
        }
        for (const io::Path& read : places.files) {
            SHARDSCOPE_TRY(const bool same, isSameFile(files, file, read));
            if (same)
                return fail(ErrorCode::Usage, "the file to write is a file of the checkpoint that is read",
                    file.string(), "choose another path");
        }
    }
    return {};
}

} // namespace shardscope
