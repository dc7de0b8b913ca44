// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/base/parallel.h"
#include "core/checkpoint/universal/universal.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kSuffix = ".pt";

/// Folders are nested if names have slashes. Deeper names of parameters are not followed.
constexpr int kDeepestName = 32;

/// A parameter's folder with its files, or a file directly in zero/.
struct Listed {
    std::string name; ///< relative to zero/
    bool isFolder = false;
    std::vector<CheckpointFile> files = {};
    std::optional<Error> error = {};
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
        file.status = FileStatus::Damaged; // opening it reports why
    return file;
}

/// Lists the parameter's folder zero/NAME, and those of parameters with a name that continues after a slash.
/// Does not enter folders behind links, so no link can cause a loop.
/// `levels`: of folders that may be entered.
void lookInside(const Reading& reading, const std::string& name, int levels,
    const std::vector<io::DirectoryEntry>& inside, std::vector<Listed>& out)
{
    const std::string path = std::string(kUniversalFolder) + "/" + name;
    Listed own{.name = name, .isFolder = true};
    bool hasFolders = false;
    for (const io::DirectoryEntry& entry : inside) {
        if (levels > 0 && entry.type == io::FileType::Directory) {
            hasFolders = true;
            const std::string deeper = name + "/" + entry.name;
            if (const auto entries = reading.files.list(reading.out.tagFolder / path / entry.name))
                lookInside(reading, deeper, levels - 1, *entries, out);
            else
                out.push_back({.name = deeper, .error = entries.error()});
        } else if (entry.name.size() > kSuffix.size() && entry.name.ends_with(kSuffix)) {
            own.files.push_back(entryFor(reading, path + "/" + entry.name, FileRole::OptimStates));
        }
    }
    if (!own.files.empty() || !hasFolders)
        out.push_back(std::move(own));
}

std::vector<Listed> lookAt(const Reading& reading, const io::DirectoryEntry& entry)
{
    const std::string path = std::string(kUniversalFolder) + "/" + entry.name;
    const auto file = [&] {
        Listed out{.name = entry.name};
        out.files.push_back(
            entryFor(reading, path, path == kUniversalOptimizer ? FileRole::OptimStates : FileRole::Other));
        return std::vector<Listed>{std::move(out)};
    };
    if (entry.type != io::FileType::Directory && entry.type != io::FileType::Symlink)
        return file();
    const auto inside = reading.files.list(reading.out.tagFolder / path);
    if (!inside && entry.type == io::FileType::Symlink) // a link to a file, or a broken one
        return file();
    std::vector<Listed> out;
    if (inside)
        lookInside(
            reading, entry.name, entry.type == io::FileType::Directory ? kDeepestName - 1 : 0, *inside, out);
    else
        out.push_back({.name = entry.name, .error = inside.error()});
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
            "the converter's working folder `tmp` still exists: the converter was asked to keep it, or it "
            "crashed",
            "tmp", {"nothing in it is read"});
    for (const CheckpointFile& file : reading.out.files) {
        if (file.name == "latest_universal")
            reading.add(code::kLatestDangling, Severity::Warning,
                "`latest_universal` is inside the folder that it should name: the converter was given a path "
                "with a slash at its end",
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
    std::vector<std::vector<Listed>> lists(entries.size());
    SHARDSCOPE_CHECK(parallelFor(entries.size(), defaultJobs(), reading.job, [&](size_t i) -> Status {
        lists[i] = lookAt(reading, entries[i]);
        return {};
    }));
    std::vector<Listed> listed;
    for (std::vector<Listed>& list : lists)
        std::move(list.begin(), list.end(), std::back_inserter(listed));
    // "a/b" comes after "a-b".
    std::sort(listed.begin(), listed.end(), [](const Listed& a, const Listed& b) { return a.name < b.name; });
    std::vector<ParamFolder> folders;
    for (Listed& one : listed) {
        if (one.error)
            reading.add(code::kFileUnreadable, Severity::Error, "the parameter's folder cannot be listed",
                std::string(kUniversalFolder) + "/" + one.name, {describe(*one.error)});
        else if (one.isFolder)
            folders.push_back({one.name, static_cast<uint32_t>(reading.out.files.size()),
                static_cast<uint32_t>(one.files.size())});
        std::move(one.files.begin(), one.files.end(), std::back_inserter(reading.out.files));
        one.files = {};
    }
    return folders;
}

} // namespace shardscope
