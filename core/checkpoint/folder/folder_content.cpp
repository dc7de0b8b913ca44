// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/folder_content.h"

#include "core/checkpoint/model/file_names.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/formats/npy_folder.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

/// No file system has longer names.
constexpr size_t kMaxNameBytes = 255;

} // namespace

bool Folder::has(std::string_view name) const
{
    return std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
}

bool Folder::isTagFolder() const
{
    return std::any_of(entries.begin(), entries.end(), [](const io::DirectoryEntry& e) {
        return e.type != io::FileType::Directory && parseCheckpointFileName(e.name).has_value();
    });
}

bool Folder::hasFolder(std::string_view name) const
{
    return std::any_of(entries.begin(), entries.end(), [&](const io::DirectoryEntry& e) {
        return e.name == name && (e.type == io::FileType::Directory || e.type == io::FileType::Symlink);
    });
}

Result<Folder> listFolder(io::FileSystem& files, const io::Path& path)
{
    SHARDSCOPE_TRY(auto entries, files.list(path));
    return Folder{path, std::move(entries)};
}

bool isUnreadable(const Error& error)
{
    return error.code == ErrorCode::Unreadable
        && io::Path(error.path).filename().native().size() <= kMaxNameBytes;
}

bool isFolderOrLink(const io::DirectoryEntry& entry)
{
    return entry.type == io::FileType::Directory || entry.type == io::FileType::Symlink;
}

bool isUniversalFolder(io::FileSystem& files, const Folder& folder)
{
    if (!folder.hasFolder(kUniversalFolder) || folder.has("latest"))
        return false;
    const auto inside = listFolder(files, folder.path / kUniversalFolder);
    if (!inside)
        return isUnreadable(inside.error()); // its reader reports the error
    return !inside->isTagFolder();
}

std::vector<std::string> tagsIn(io::FileSystem& files, const Folder& run, std::vector<Error>* unreadable)
{
    std::vector<std::string> tags;
    for (const io::DirectoryEntry& entry : run.entries) {
        if (!isFolderOrLink(entry))
            continue;
        if (entry.name.starts_with(".")) // work folders of an unfinished job
            continue;
        const auto folder = listFolder(files, run.path / entry.name);
        if (folder && (folder->isTagFolder() || isUniversalFolder(files, *folder)))
            tags.push_back(entry.name);
        else if (!folder && unreadable != nullptr && isUnreadable(folder.error())
            && entry.name != "lost+found")
            unreadable->push_back(folder.error());
    }
    std::sort(tags.begin(), tags.end(), [](const auto& a, const auto& b) { return tagLess(a, b); });
    return tags;
}

std::string wrapperOf(const Folder& run, const std::string& tag)
{
    if (run.has("trainer_state.json") || run.has("training_args.bin"))
        return "transformers";
    if (run.has("random_states_0.pkl") || isAccelerateModel(tag))
        return "accelerate";
    if (run.path.filename().string().ends_with(".ckpt") && tag == "checkpoint")
        return "lightning";
    if (run.has("latest_checkpointed_iteration.txt"))
        return "megatron";
    return {};
}

bool isNumberedCheckpoint(std::string_view name)
{
    return name.starts_with("checkpoint-") || name.starts_with("checkpoint_");
}

std::vector<std::string> numberedCheckpoints(io::FileSystem& files, const Folder& output)
{
    std::vector<std::string> names;
    for (const io::DirectoryEntry& entry : output.entries) {
        if (!isNumberedCheckpoint(entry.name) || entry.type == io::FileType::Regular)
            continue;
        const auto folder = listFolder(files, output.path / entry.name);
        if (folder && (folder->has("latest") || !tagsIn(files, *folder).empty()))
            names.push_back(entry.name);
    }
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return tagLess(a, b); });
    return names;
}

CheckpointKind foreignKindOf(io::FileSystem& files, const Folder& folder)
{
    if (isUniversalFolder(files, folder))
        return CheckpointKind::Universal;
    if (folder.has("zero_stage_3"))
        return CheckpointKind::Swap;
    const bool swapFiles = std::any_of(folder.entries.begin(), folder.entries.end(),
        [](const auto& e) { return e.name.ends_with(".tensor.swp"); });
    return swapFiles ? CheckpointKind::Swap : CheckpointKind::Unknown;
}

bool isAccelerateModel(std::string_view tag)
{
    constexpr std::string_view kFirst = "pytorch_model";
    if (tag == kFirst)
        return true;
    if (!tag.starts_with(kFirst) || tag.size() < kFirst.size() + 2 || tag[kFirst.size()] != '_')
        return false;
    return std::all_of(
        tag.begin() + kFirst.size() + 1, tag.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string weightsFileIn(const Folder& folder)
{
    // The first one that exists decides. A distributed checkpoint comes after them (distributed_folders.h).
    constexpr std::array<std::string_view, 6> kWeightFiles{"model.safetensors.index.json",
        "model.safetensors", "pytorch_model.bin.index.json", "pytorch_model.bin", "adapter_model.safetensors",
        kNpyIndexName};
    const bool hasNpy = std::any_of(folder.entries.begin(), folder.entries.end(),
        [](const io::DirectoryEntry& entry) { return entry.name.ends_with(".npy"); });
    for (const std::string_view name : kWeightFiles) {
        if (folder.has(name) && (name != kNpyIndexName || hasNpy))
            return std::string(name);
    }
    return {};
}

bool holdsCheckpoint(io::FileSystem& files, const Folder& folder)
{
    return folder.isTagFolder() || folder.has("latest") || folder.has(kUniversalPointer)
        || folder.has(kDcpMetadataName) || !isUnknown(foreignKindOf(files, folder))
        || !tagsIn(files, folder).empty() || !numberedCheckpoints(files, folder).empty();
}

} // namespace shardscope
