// SPDX-License-Identifier: Apache-2.0
#include "core/io/published_file.h"

#include <unistd.h>

#include <algorithm>

namespace shardscope::io {

namespace {

constexpr int kTries = 100;

Path folderOf(const Path& path)
{
    return path.has_parent_path() ? path.parent_path() : Path(".");
}

const char* nameOfType(FileType type)
{
    switch (type) {
    case FileType::Symlink:
        return "a symbolic link";
    case FileType::Directory:
        return "a folder";
    case FileType::Regular:
    case FileType::Other:
        break;
    }
    return "a FIFO, socket or device";
}

} // namespace

Result<std::optional<FileType>> entryType(FileSystem& files, const Path& path)
{
    SHARDSCOPE_TRY(const auto entries, files.list(folderOf(path)));
    const auto found = std::ranges::find(entries, path.filename().string(), &DirectoryEntry::name);
    return found == entries.end() ? std::nullopt : std::optional(found->type);
}

Status checkPublishable(FileSystem& files, const Path& path, bool replace)
{
    const auto type = entryType(files, path);
    if (!type || !*type)
        return {}; // where the folder cannot be listed, creating the file says why it cannot be there
    if (**type != FileType::Regular)
        return fail(ErrorCode::TargetExists,
            std::string("the output file cannot be written: its path is ") + nameOfType(**type),
            path.string(), "choose another name");
    if (!replace)
        return fail(ErrorCode::TargetExists, "the file exists", path.string(), "replace it with --force");
    return {};
}

Result<std::unique_ptr<WriteFile>> createForPublishing(FileSystem& files, const Path& path, bool replace)
{
    SHARDSCOPE_CHECK(checkPublishable(files, path, replace));
    for (int i = 0;; ++i) {
        const Path work = folderOf(path)
            / ("." + path.filename().string().substr(0, 200) + ".partial-" + std::to_string(::getpid()) + "-"
                + std::to_string(i));
        auto file = files.create(work);
        if (file || file.error().code != ErrorCode::TargetExists || i == kTries)
            return file;
    }
}

Status publishFile(FileSystem& files, WriteFile& file, const Path& path, bool replace, Status done)
{
    if (done)
        done = file.sync();
    if (done)
        done = file.close();
    if (done)
        done = checkPublishable(files, path, replace); // it may have appeared meanwhile
    if (done)
        done = replace ? files.rename(file.path(), path) : files.renameNoReplace(file.path(), path);
    if (!done) {
        (void)files.removeFile(file.path());
        return done;
    }
    return files.syncDirectory(folderOf(path));
}

} // namespace shardscope::io
