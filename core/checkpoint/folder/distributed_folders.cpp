// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/distributed_folders.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/formats/dcp_metadata.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

/// Folders of weights and of their optimizer.
struct Pair {
    std::string_view weights;
    std::string_view optimizer;
};
constexpr std::array<Pair, 2> kPairs{{{"pytorch_model_fsdp_0", "optimizer_0"}, {"model", "optim"}}};
constexpr std::string_view kSecondModel = "pytorch_model_fsdp_1";

/// Whether a file exists. It is not known to be absent if it cannot be looked at.
Result<bool> exists(io::FileSystem& files, const io::Path& path)
{
    const auto info = files.stat(path);
    if (!info && info.error().code != ErrorCode::NotFound)
        return forward(info.error());
    return info.has_value();
}

Result<bool> isDistributedFolder(io::FileSystem& files, const io::Path& folder)
{
    return exists(files, folder / kDcpMetadataName);
}

struct Steps {
    std::vector<std::string> complete; ///< oldest first
    std::string unfinished; ///< the newest without `.metadata`. Empty if there is none
};

bool endsWithNumber(std::string_view name)
{
    return !name.empty() && name.front() != '.' && name.back() >= '0' && name.back() <= '9';
}

} // namespace

Result<std::vector<std::string>> distributedFolders(io::FileSystem& files, const io::Path& folder)
{
    SHARDSCOPE_TRY(const bool alone, isDistributedFolder(files, folder));
    if (alone)
        return std::vector<std::string>{""};
    for (const Pair& pair : kPairs) {
        std::vector<std::string> out;
        for (const std::string_view name : {pair.weights, pair.optimizer}) {
            SHARDSCOPE_TRY(const bool there, isDistributedFolder(files, folder / name));
            if (there)
                out.emplace_back(name);
        }
        if (out.empty())
            continue;
        SHARDSCOPE_TRY(const bool second, isDistributedFolder(files, folder / kSecondModel));
        if (second)
            return fail(ErrorCode::Unsupported, "the folder holds several models", folder.string(),
                "give the folder of one: `" + out.front() + "`, `" + std::string(kSecondModel) + "`");
        return out;
    }
    return std::vector<std::string>();
}

namespace {

Result<Steps> stepsIn(io::FileSystem& files, const io::Path& run)
{
    SHARDSCOPE_TRY(const auto entries, files.list(run));
    Steps out;
    for (const io::DirectoryEntry& entry : entries) {
        const bool folder = entry.type == io::FileType::Directory || entry.type == io::FileType::Symlink;
        if (!folder || !endsWithNumber(entry.name))
            continue;
        const auto inside = files.list(run / entry.name);
        if (!inside && inside.error().code == ErrorCode::NotFound)
            continue;
        if (!inside && entry.type == io::FileType::Symlink) // of a file
            continue;
        if (!inside)
            return forward(inside.error());
        SHARDSCOPE_TRY(const auto folders, distributedFolders(files, run / entry.name));
        const bool tensors = std::ranges::any_of(
            *inside, [](const io::DirectoryEntry& file) { return file.name.ends_with(".distcp"); });
        if (!folders.empty())
            out.complete.push_back(entry.name);
        else if (tensors && (out.unfinished.empty() || tagLess(out.unfinished, entry.name)))
            out.unfinished = entry.name;
    }
    std::sort(
        out.complete.begin(), out.complete.end(), [](const auto& a, const auto& b) { return tagLess(a, b); });
    return out;
}

Discovery distributedIn(const io::Path& folder, const std::string& name)
{
    Discovery out;
    out.tagFolder = folder;
    out.selectedFile = name + (name.empty() ? "" : "/") + std::string(kDcpMetadataName);
    return out;
}

} // namespace

Result<std::optional<Discovery>> discoverDistributed(
    io::FileSystem& files, const io::Path& path, const std::string& tag)
{
    SHARDSCOPE_TRY(const auto folders, distributedFolders(files, path));
    if (!folders.empty())
        return distributedIn(path, folders.front());
    SHARDSCOPE_TRY(const Steps steps, stepsIn(files, path));
    if (steps.complete.empty())
        return std::optional<Discovery>();
    const std::string step = tag.empty() ? steps.complete.back() : tag;
    if (std::find(steps.complete.begin(), steps.complete.end(), step) == steps.complete.end())
        return fail(ErrorCode::NotFound, "`" + toValidUtf8(step) + "` holds no distributed checkpoint",
            path.string(), "the newest that does is `" + steps.complete.back() + "`");
    SHARDSCOPE_TRY(const auto parts, distributedFolders(files, path / step));
    Discovery out = distributedIn(path / step, parts.empty() ? std::string() : parts.front());
    out.tag = step;
    out.tags = steps.complete;
    if (tag.empty() && !steps.unfinished.empty() && tagLess(step, steps.unfinished))
        out.findings.push_back({code::kModelStatesMissing, Severity::Warning,
            "`" + toValidUtf8(steps.unfinished) + "` is newer and has no `.metadata`: its save did not end",
            percentEncode(steps.unfinished), {}});
    return out;
}

} // namespace shardscope
