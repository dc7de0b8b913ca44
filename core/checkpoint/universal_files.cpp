// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/universal.h"

#include "core/base/finding_codes.h"
#include "core/base/parallel.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kSuffix = ".pt";

/// One entry of zero/: a parameter's folder with its files, or a file beside them.
struct Listed {
    bool isFolder = false;
    std::vector<CheckpointFile> files;
    std::optional<Error> error;
};

CheckpointFile entryFor(const Reading& reading, std::string name, FileRole role)
{
    CheckpointFile file;
    file.path = reading.out.tagFolder / name;
    file.name = std::move(name);
    file.role = role;
    if (role == FileRole::Other)
        file.status = FileStatus::Foreign;
    if (const auto info = reading.files.stat(file.path))
        file.identity = info->identity;
    else
        file.status = FileStatus::Damaged; // opening it says why
    return file;
}

/// Nothing below zero/NAME is entered, so that no link can lead in circles.
Listed lookAt(const Reading& reading, const io::DirectoryEntry& entry)
{
    Listed out;
    const std::string name = std::string(kUniversalFolder) + "/" + entry.name;
    if (entry.type != io::FileType::Directory && entry.type != io::FileType::Symlink) {
        out.files.push_back(
            entryFor(reading, name, name == kUniversalOptimizer ? FileRole::OptimStates : FileRole::Other));
        return out;
    }
    const auto inside = reading.files.list(reading.out.tagFolder / name);
    if (!inside) {
        if (entry.type == io::FileType::Symlink) // to a file, or to nothing
            out.files.push_back(entryFor(
                reading, name, name == kUniversalOptimizer ? FileRole::OptimStates : FileRole::Other));
        else
            out.error = inside.error();
        return out;
    }
    out.isFolder = true;
    for (const io::DirectoryEntry& file : *inside) {
        if (file.name.size() > kSuffix.size() && file.name.ends_with(kSuffix))
            out.files.push_back(entryFor(reading, name + "/" + file.name, FileRole::OptimStates));
    }
    return out;
}

void noteLeftovers(const Reading& reading)
{
    const auto isThere = [&](const char* name) {
        const auto info = reading.files.stat(reading.out.tagFolder / name);
        return info && info->type == io::FileType::Directory;
    };
    if (isThere("tmp"))
        reading.add(code::kForeignFile, Severity::Info,
            "the converter's working folder `tmp` is still there: it was asked to keep it, or it crashed",
            "tmp", {"nothing in it is read"});
    for (const CheckpointFile& file : reading.out.files) {
        if (file.name == "latest_universal")
            reading.add(code::kLatestDangling, Severity::Warning,
                "`latest_universal` lies inside the folder that it should name: the converter was given a "
                "path with a slash at its end",
                file.name,
                {"stock DeepSpeed looks for it one folder up; write the folder's name into it there"});
    }
}

} // namespace

std::string_view stateOfFile(const CheckpointFile& file, const ParamFolder& folder)
{
    const size_t begin = kUniversalFolder.size() + folder.name.size() + 2;
    return std::string_view(file.name).substr(begin, file.name.size() - begin - kSuffix.size());
}

Result<std::vector<ParamFolder>> listParamFolders(const Reading& reading)
{
    noteLeftovers(reading);
    SHARDSCOPE_TRY(const auto entries, reading.files.list(reading.out.tagFolder / kUniversalFolder));
    std::vector<Listed> listed(entries.size());
    SHARDSCOPE_CHECK(parallelFor(entries.size(), defaultJobs(), reading.job, [&](size_t i) -> Status {
        listed[i] = lookAt(reading, entries[i]);
        return {};
    }));
    std::vector<ParamFolder> folders;
    for (size_t i = 0; i < listed.size(); ++i) {
        if (listed[i].error)
            reading.add(code::kFileUnreadable, Severity::Error, "the parameter's folder cannot be listed",
                std::string(kUniversalFolder) + "/" + entries[i].name, {describe(*listed[i].error)});
        else if (listed[i].isFolder)
            folders.push_back({entries[i].name, static_cast<uint32_t>(reading.out.files.size()),
                static_cast<uint32_t>(listed[i].files.size())});
        std::move(listed[i].files.begin(), listed[i].files.end(), std::back_inserter(reading.out.files));
        listed[i].files = {};
    }
    return folders;
}

} // namespace shardscope
