// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/made_target.h"

#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/verify/verify_others.h"
#include "core/io/published_file.h"
#include "core/torchfile/zip/zip_directory.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace shardscope {

namespace {

constexpr uint64_t kManifestLimit = uint64_t{1} << 32;
constexpr uint64_t kPointerLimit = 4096;

/// Whether the manifest's name is that of a file in the folder or next to it.
bool isHarmless(const std::string& name)
{
    const bool isNext = isNextToTag(name);
    const io::Path path = isNext ? name.substr(kNextToTag.size()) : name;
    const auto isPlain = [](const io::Path& part) { return !part.empty() && part != "." && part != ".."; };
    return !path.empty() && path.is_relative() && std::all_of(path.begin(), path.end(), isPlain)
        && (!isNext || !path.has_parent_path());
}

/// Whether a shorter file than was written is only its beginning: an archive without its end, or nothing.
Result<bool> isTruncated(io::FileSystem& files, const io::Path& path)
{
    SHARDSCOPE_TRY(const auto file, files.openRead(path));
    std::array<uint8_t, 2> head{};
    if (file->size() < head.size())
        return file->size() == 0;
    SHARDSCOPE_CHECK(file->readAt(0, head));
    const auto end = ZipDirectory::readEnd(*file);
    if (!end && end.error().code == ErrorCode::Unreadable)
        return forward(end.error());
    return head[0] == 'P' && head[1] == 'K' && !end;
}

enum class FileState { Intact, Lost, Changed };

/// Of a file that was found. `isLater`: it was written after the manifest.
Result<FileState> stateOfFile(io::FileSystem& files, const io::Path& path, const ManifestFile& listed,
    const io::FileInfo& info, bool isLater, JobContext& job)
{
    const uint64_t bytes = info.identity.bytes;
    if (info.type != io::FileType::Regular || bytes > listed.bytes)
        return FileState::Changed;
    if (bytes == listed.bytes && !isLater)
        return FileState::Intact;
    if (bytes == listed.bytes) { // such as by `cp -r`
        const io::DigestKind kind = io::digestKindOf(listed.digest);
        SHARDSCOPE_TRY(const ManifestFile found, readManifestFile(files, path, kind, job));
        return found.digest == listed.digest ? FileState::Intact : FileState::Changed;
    }
    bool isLost = !isLater;
    if (isLater) {
        SHARDSCOPE_TRY(isLost, isTruncated(files, path));
    }
    return isLost ? FileState::Lost : FileState::Changed;
}

/// Whether the manifest lists exactly the plan's files.
bool listsFilesOf(const Manifest& manifest, const WritePlan& plan)
{
    return manifest.files.size() == plan.files.size()
        && std::ranges::all_of(plan.files, [&](const PlannedFile& file) {
               const auto found = manifest.files.find(file.path);
               return found != manifest.files.end() && found->second.bytes == file.bytes;
           });
}

} // namespace

Result<std::optional<MadeTarget>> madeTarget(io::FileSystem& files, const io::Path& folder)
{
    const std::optional<MadeTarget> none;
    const auto type = io::entryType(files, folder / kManifestName);
    if (!type && type.error().code == ErrorCode::NotFound)
        return none;
    SHARDSCOPE_CHECK(type);
    if (*type != io::FileType::Regular)
        return none;
    SHARDSCOPE_TRY(const std::string text, files.readSmall(folder / kManifestName, kManifestLimit));
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(folder / kManifestName));
    const JsonNode json = JsonNode::parse(text);
    auto manifest = readManifest(json);
    const JsonNode plan = json.at("plan");
    if (!manifest || !plan.isObject())
        return none;
    for (const auto& [name, file] : manifest->files) {
        if (!isHarmless(name))
            return none;
    }
    const auto textOf = [](const JsonNode& node) { return node.text().value_or(std::string()); };
    return MadeTarget{folder, textOf(plan.at("verb")), textOf(plan.at("id")),
        textOf(plan.at("source").at("run")), std::move(*manifest), info.identity.modifiedNs};
}

Result<TargetChanges> changesOf(
    io::FileSystem& files, const MadeTarget& target, ChangesOf which, JobContext& job)
{
    TargetChanges out;
    std::vector<io::Path> paths;
    std::vector<const std::pair<const std::string, ManifestFile>*> listed;
    for (const auto& entry : target.manifest.files) {
        if (which == ChangesOf::Target && isNextToTag(entry.first))
            continue;
        paths.push_back(target.folder / entry.first);
        listed.push_back(&entry);
    }
    const auto found = files.statAll(paths);
    for (size_t i = 0; i < found.size(); ++i) {
        if (!found[i] && found[i].error().code != ErrorCode::NotFound)
            return forward(found[i].error());
        FileState state = FileState::Lost;
        if (found[i]) {
            const bool isLater = found[i]->identity.modifiedNs > target.writtenNs;
            SHARDSCOPE_TRY(state, stateOfFile(files, paths[i], listed[i]->second, *found[i], isLater, job));
        }
        out.isWhole = out.isWhole && state != FileState::Lost;
        if (state == FileState::Changed && out.changed.empty())
            out.changed = listed[i]->first;
    }
    return out;
}

Result<std::string> pointerText(io::FileSystem& files, const WritePlan& plan, const io::Path& destination)
{
    if (plan.pointerName.empty())
        return std::string();
    auto text = files.readSmall(destination / plan.pointerName, kPointerLimit);
    if (!text && text.error().code == ErrorCode::Unreadable)
        return forward(text.error());
    return text ? std::move(*text) : std::string();
}

Result<bool> isDone(
    io::FileSystem& files, const WritePlan& plan, const io::Path& destination, JobContext& job)
{
    SHARDSCOPE_TRY(const std::string pointer, pointerText(files, plan, destination));
    if (!plan.pointerName.empty() && pointer != plan.targetName)
        return false;
    SHARDSCOPE_TRY(const auto made, madeTarget(files, destination / plan.targetName));
    if (!made || made->id != plan.id || !listsFilesOf(made->manifest, plan))
        return false;
    SHARDSCOPE_TRY(const TargetChanges changes, changesOf(files, *made, ChangesOf::TargetAndNextToIt, job));
    return changes.isWhole && changes.changed.empty();
}

} // namespace shardscope
