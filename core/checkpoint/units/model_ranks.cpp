// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/model_ranks.h"

#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/file_table.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint32_t kMaxModelRanks = 4096;

std::optional<int64_t> modelInteger(const Reading& reading, NodeId mapping, std::string_view key)
{
    const TorchFile* file = reading.content(reading.out.templateModel);
    return file == nullptr ? std::nullopt : asInteger(file->pickle(), lookup(file->pickle(), mapping, key));
}

} // namespace

uint32_t countModelRanks(const Reading& reading)
{
    uint32_t count = 1;
    for (const CheckpointFile& file : reading.out.files) {
        const auto parsed = reading.nameOf(file);
        if (parsed && parsed->mp < kMaxModelRanks
            && (parsed->role == FileRole::ModelStates || parsed->role == FileRole::OptimStates))
            count = std::max(count, parsed->mp + 1);
    }
    const auto recorded = reading.modelRoot == kNoNode
        ? std::nullopt
        : modelInteger(reading, reading.modelRoot, "mp_world_size");
    return recorded && *recorded > 0 && *recorded <= int64_t{kMaxModelRanks}
        ? static_cast<uint32_t>(*recorded)
        : count;
}

void markBeyondModelRanks(const Reading& reading, uint32_t modelRanks)
{
    for (uint32_t i = 0; i < reading.out.files.size(); ++i) {
        const auto parsed = reading.nameOf(reading.out.files[i]);
        if (parsed && parsed->mp >= modelRanks)
            markUnneeded(reading, FileId{i},
                "the file is of a model-parallel rank beyond the " + std::to_string(modelRanks)
                    + " that saved; stock DeepSpeed counts such files and refuses the folder");
    }
}

ParallelDegrees modelParallelDegrees(const Reading& reading, uint32_t modelRanks)
{
    ParallelDegrees out;
    out.tp = modelRanks;
    if (const TorchFile* file = reading.content(reading.out.templateModel)) {
        const NodeId degrees = lookup(file->pickle(), reading.modelRoot, "checkpoint_parallel_dimensions");
        const auto tp = modelInteger(reading, degrees, "tp_degree");
        const auto pp = modelInteger(reading, degrees, "pp_degree");
        if (tp && pp && *tp > 0 && *pp > 0 && *tp <= modelRanks
            && checkedMultiply(*tp, *pp) == int64_t{modelRanks}) {
            out.tp = static_cast<uint32_t>(*tp);
            out.pp = static_cast<uint32_t>(*pp);
            return out;
        }
    }
    uint32_t slices = 0;
    for (const CheckpointFile& file : reading.out.files) {
        const auto parsed = reading.nameOf(file);
        if (parsed && parsed->role == FileRole::LayerStates)
            slices = std::max(slices, parsed->tp.value_or(0) + 1);
    }
    if (slices > 0 && modelRanks % slices == 0) {
        out.tp = slices;
        out.pp = modelRanks / slices;
    }
    return out;
}

Checkpoint partOf(const Checkpoint& whole, uint32_t rank)
{
    Checkpoint part;
    part.runFolder = whole.runFolder;
    part.tagFolder = whole.tagFolder;
    part.tag = whole.tag;
    part.tags = whole.tags;
    part.latest = whole.latest;
    part.wrapper = whole.wrapper;
    part.parallel = whole.parallel;
    part.files = whole.files;
    part.modelRank = rank;
    part.place = {0, rank % whole.parallel.tp, rank / whole.parallel.tp};
    return part;
}

bool isStage0OfStages(const Reading& reading)
{
    const TorchFile* file = reading.content(reading.out.templateModel);
    return file != nullptr
        && isMapping(file->pickle(), lookup(file->pickle(), reading.modelRoot, "optimizer"))
        && !isMapping(file->pickle(), lookup(file->pickle(), reading.modelRoot, "module"));
}

bool refuseWithoutShards(Reading& reading)
{
    Checkpoint& out = reading.out;
    const PickleGraph& graph = reading.content(out.templateModel)->pickle();
    if (!wasSavedWithZero(reading) || isMapping(graph, lookup(graph, reading.modelRoot, "optimizer"))) {
        if (!isMapping(graph, lookup(graph, reading.modelRoot, "module")) && reading.ofStage == nullptr)
            reading.refuse("it was saved without ZeRO (stage 0) by pipeline stages, and its model files hold "
                           "no optimizer, so the layers of a stage cannot be determined");
        return false;
    }
    out.kind = CheckpointKind::Unknown;
    readModelHeader(reading);
    const bool bf16 = std::any_of(out.files.begin(), out.files.end(), [&](const CheckpointFile& file) {
        const auto parsed = reading.nameOf(file);
        return parsed && parsed->role == FileRole::OptimStates && parsed->bf16Prefix;
    });
    const std::string what = "the optimizer files of model-parallel rank " + std::to_string(out.modelRank)
        + " are missing: its model file was saved with ZeRO";
    reading.add(code::kRankMissing, Severity::Error, what, optimFileName(0, out.modelRank, bf16));
    reading.stop(fail(ErrorCode::Damaged, what, out.tagFolder.string()));
    return true;
}

std::optional<uint32_t> shardGroupRanks(const Reading& reading, FileId optimFile)
{
    const auto size = modelStates(reading).configInteger({"zero_optimization", "mics_shard_size"});
    if (reading.content(optimFile) == nullptr || size.value_or(-1) <= 0)
        return std::nullopt;
    const PickleGraph& graph = reading.content(optimFile)->pickle();
    const NodeId wrapper = wrapperOf(graph);
    const auto count = asInteger(graph, lookup(graph, wrapper, "partition_count"));
    if (!count || *count <= 0 || *count > 1'000'000)
        return std::nullopt;
    return static_cast<uint32_t>(*count);
}

namespace {

constexpr int64_t kMaxRanks = 1'000'000;

} // namespace

uint32_t findWorldSize(Reading& reading, FileId guide, size_t optimFiles)
{
    Checkpoint& out = reading.out;
    if (const auto shards = shardGroupRanks(reading, guide)) {
        out.evidence.push_back("MiCS: the first shard group of " + std::to_string(*shards)
            + " ranks saved, the others hold the same");
        return *shards;
    }
    if (reading.modelRoot != kNoNode) {
        const PickleGraph& graph = reading.content(out.templateModel)->pickle();
        const auto world = asInteger(graph, lookup(graph, reading.modelRoot, "dp_world_size"));
        if (world && *world > 0 && *world <= kMaxRanks)
            return static_cast<uint32_t>(*world);
    }
    const TorchFile* optim = reading.content(guide);
    if (optim == nullptr)
        return std::max<uint32_t>(1, static_cast<uint32_t>(optimFiles)); // the model file lacks the count
    const PickleGraph& graph = optim->pickle();
    const NodeId node = lookup(graph, wrapperOf(graph), "partition_count");
    int64_t most = node == kNoNode ? 0 : asInteger(graph, node).value_or(0);
    for (const NodeId item : sequenceItems(graph, node))
        most = std::max(most, asInteger(graph, item).value_or(0));
    return most > 0 && most <= kMaxRanks ? static_cast<uint32_t>(most) : static_cast<uint32_t>(optimFiles);
}

} // namespace shardscope
