// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/kind_choice.h"

#include "core/checkpoint/folder/distributed_folders.h"
#include "core/checkpoint/folder/folder_content.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <utility>

namespace shardscope {

namespace {

tl::unexpected<Error> failNothingOf(CheckpointKind kind, const io::Path& path)
{
    return fail(ErrorCode::NotACheckpoint,
        "it holds nothing of kind `" + std::string(kindName(kind)) + "`, which was asked for", path.string(),
        Hint::omit("--kind"));
}

Result<Discovery> discoverWeights(
    io::FileSystem& files, const io::Path& path, const io::FileInfo& info, const std::string& tag)
{
    Discovery out;
    if (info.type != io::FileType::Directory) {
        if (!tag.empty())
            return fail(ErrorCode::Usage, "this path is a file, and --tag names a folder", path.string(),
                Hint::omit("--tag"));
        if (parseCheckpointFileName(path.filename().string()))
            return failNothingOf(CheckpointKind::Weights, path);
        out.tagFolder = path.parent_path();
        out.selectedFile = path.filename().string();
        return out;
    }
    SHARDSCOPE_TRY(const Folder folder, listFolder(files, path));
    out.tagFolder = path;
    if (!tag.empty()) {
        if (!folder.hasFolder(tag))
            return fail(ErrorCode::NotFound, "there is no folder `" + tag + "` in this one", path.string());
        out.tagFolder /= tag;
    }
    SHARDSCOPE_TRY(const Folder chosen, listFolder(files, out.tagFolder));
    out.selectedFile = weightsFileIn(chosen);
    if (out.selectedFile.empty())
        return failNothingOf(CheckpointKind::Weights, out.tagFolder);
    return out;
}

Result<Discovery> discoverUniversal(
    io::FileSystem& files, const io::Path& path, const std::string& tag, JobContext& job)
{
    SHARDSCOPE_TRY(Discovery out, discover(files, path, tag, job));
    if (isUniversal(out.foreignKind))
        return out;
    // PATH is the run, and its `latest` names a native tag. Its other pointer names the universal one.
    SHARDSCOPE_TRY(const io::Path asked, files.canonical(path));
    if (tag.empty() && (asked == out.runFolder || asked == out.runFolder / "latest")) {
        SHARDSCOPE_TRY(const Folder run, listFolder(files, out.runFolder));
        if (run.has(kUniversalPointer))
            return discover(files, run.path / kUniversalPointer, tag, job);
    }
    return failNothingOf(CheckpointKind::Universal, path);
}

/// Whether both kinds partition flat groups over ranks, in files of the same form.
bool haveOneForm(CheckpointKind a, CheckpointKind b)
{
    return partitionsGroups(a) && partitionsGroups(b);
}

} // namespace

Result<Discovery> discoverAsked(
    io::FileSystem& files, const io::Path& path, const OpenOptions& options, JobContext& job)
{
    if (!options.kind)
        return discover(files, path, options.tag, job);
    SHARDSCOPE_CHECK(job.poll());
    const CheckpointKind kind = *options.kind;
    if (isUniversal(kind))
        return discoverUniversal(files, path, options.tag, job);
    if (hasNoRunFolder(kind)) {
        SHARDSCOPE_TRY(const io::Path asked, files.canonical(path));
        SHARDSCOPE_TRY(const io::FileInfo info, files.stat(asked));
        if (isWeights(kind))
            return discoverWeights(files, asked, info, options.tag);
        SHARDSCOPE_TRY(auto found,
            discoverDistributed(
                files, info.type == io::FileType::Directory ? asked : asked.parent_path(), options.tag));
        if (!found)
            return failNothingOf(kind, asked);
        return std::move(*found);
    }
    SHARDSCOPE_TRY(Discovery out, discover(files, path, options.tag, job));
    if (!isUnknown(out.foreignKind) && !isSwapKind(kind) && !out.tagFolder.empty()) {
        SHARDSCOPE_TRY(const Folder tag, listFolder(files, out.tagFolder));
        if (std::any_of(tag.entries.begin(), tag.entries.end(), [](const io::DirectoryEntry& entry) {
                const auto parsed = parseCheckpointFileName(entry.name);
                return parsed && parsed->role == FileRole::OptimStates;
            }))
            out.foreignKind = CheckpointKind::Unknown;
    }
    return out;
}

void takeKindOf(const Reading& reading, FileId optimFile)
{
    Checkpoint& out = reading.out;
    const PickleGraph& graph = reading.content(optimFile)->pickle();
    const NodeId wrapper = wrapperOf(graph);
    if (lookup(graph, wrapper, "local_sub_partitions_of_fp32_groups") != kNoNode)
        return reading.refuse("it has the ZeRO-1 form of releases before 0.3.17, which is split by "
                              "communication interval (current DeepSpeed refuses it, too)");
    if (lookup(graph, wrapper, "fp32_flat_groups") != kNoNode) {
        out.kind = CheckpointKind::Zero3;
        return;
    }
    if (lookup(graph, wrapper, "single_partition_of_fp32_groups") == kNoNode)
        return;
    const auto stage = zeroStageOf(graph, wrapper);
    out.zeroStage = stage.value_or(1);
    if (!stage)
        out.kind = CheckpointKind::Bf16;
    else if (out.zeroStage == 1 || out.zeroStage == 2)
        out.kind = kindOfStage(out.zeroStage);
}

void takeAskedKind(const Reading& reading, std::optional<CheckpointKind> asked)
{
    Checkpoint& out = reading.out;
    if (!asked || out.kind == *asked)
        return;
    const bool hasNone = isUnknown(out.kind);
    if (!haveOneForm(out.kind, *asked) && !(hasNone && partitionsGroups(*asked)))
        return;
    out.evidence.push_back("opened as " + std::string(traitsOf(*asked).title) + ", as asked; its files "
        + (hasNone ? "do not show a kind" : "say " + std::string(traitsOf(out.kind).title)));
    out.replacedKind = std::exchange(out.kind, *asked);
    out.zeroStage = traitsOf(*asked).stage.value_or(1);
}

Status requireAskedKind(const Checkpoint& opened, std::optional<CheckpointKind> asked)
{
    if (!asked || opened.kind == *asked || (isUnknown(opened.kind) && opened.modelError))
        return {};
    std::string why = opened.evidence.empty() ? std::string() : ": " + opened.evidence.front();
    return fail(ErrorCode::NotACheckpoint,
        "it is of kind `" + std::string(kindName(opened.kind)) + "`, not `" + std::string(kindName(*asked))
            + "`" + why,
        (opened.tagFolder.empty() ? opened.runFolder : opened.tagFolder).string(), Hint::omit("--kind"));
}

} // namespace shardscope
