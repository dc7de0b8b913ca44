// SPDX-License-Identifier: Apache-2.0
// Diagnoses of parameters and the files that hold them.
#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/sequence_names.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/doctor/diagnosis_tables.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"
#include "core/doctor/weight_files.h"
#include "core/layout/slices/merged_slices.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr size_t kMaxNamed = 8;

/// Names in `param_shapes` that `module` does not have, and the number of those that it has.
struct Names {
    size_t known = 0;
    std::vector<std::string> unknown;
};

Names compareNames(const ModelStates& model)
{
    const PickleGraph& graph = *model.graph;
    std::unordered_set<std::string_view> listed;
    const auto items = mappingItems(graph, model.module);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (const auto name = asString(graph, items[i]))
            listed.insert(*name);
    }
    Names out;
    for (const NodeId group : sequenceItems(graph, model.paramShapes)) {
        const auto shapes = mappingItems(graph, group);
        for (size_t i = 0; i + 1 < shapes.size(); i += 2) {
            const auto name = asString(graph, shapes[i]);
            if (!name || parseExpertName(*name))
                continue; // experts are in separate files
            if (listed.contains(*name))
                ++out.known;
            else
                out.unknown.emplace_back(*name);
        }
    }
    return out;
}

Status findModelChanged(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ModelStates model = modelStates(checkpoint);
    // Experts and the layers of a pipeline are in separate files.
    if (!model.hasModule() || model.numExperts != kNoNode || !FusedExperts::of(checkpoint).isEmpty())
        return {};
    Names names = compareNames(model);
    // A model with a custom state dict has no names in common.
    if (names.unknown.empty() || names.known < names.unknown.size())
        return {};
    const size_t count = names.unknown.size();
    std::vector<Place> places;
    for (const std::string& name : names.unknown) {
        if (const auto param = checkpoint.findParam(name))
            places.emplace_back(addressOf(checkpoint, *param, "fp32"));
    }
    if (names.unknown.size() > kMaxNamed)
        names.unknown.resize(kMaxNamed);
    sink.add(Severity::Error,
        std::to_string(count)
            + (count == 1 ? " parameter that the optimizer trains is"
                          : " parameters that the optimizer trains are")
            + " not in the model's state dict",
        places.empty() ? Place(model.file->name) : places.front(), std::move(names.unknown));
    sink.setParts(std::move(places));
    return {};
}

/// The optimizer's parameters are not those of the module in the same checkpoint.
constexpr Diagnosis kModelChanged{
    .code = "model-changed",
    .letter = "S20",
    .name = "Optimizer and module are of different models",
    .means = {.loading = "Stock DeepSpeed stops at keys that the model expects and the file does not have, "
                         "or continues without them where load_module_strict is off.",
        .resuming = "ZeRO stores states without names: they are assigned to the parameters that the live "
                    "optimizer has at the same positions.",
        .exporting = "Masters are exported with the optimizer's names."},
    .noRemedy = "the files do not record the names of the next run's model; resume with the model that the "
                "optimizer's states belong to, or export the weights with the new names (`export --rename`)",
    .threads = "HF#10821, unslothai/unsloth#3108",
    .look = findModelChanged,
};

/// Experts by MoE layer, for one model-parallel rank.
using LayerFiles = std::map<uint32_t, std::set<uint32_t>>;

std::map<uint32_t, LayerFiles> expertFiles(const CheckContext& context)
{
    std::map<uint32_t, LayerFiles> out;
    for (const FolderEntry& entry : context.tag) {
        if (entry.parsed && entry.parsed->role == FileRole::ExpertStates && entry.parsed->layer
            && entry.parsed->expert)
            out[entry.parsed->mp][*entry.parsed->layer].insert(*entry.parsed->expert);
    }
    return out;
}

std::string fileName(uint32_t layer, uint32_t expert, uint32_t mp)
{
    return "layer_" + std::to_string(layer) + "_expert_" + std::to_string(expert) + "_mp_rank_"
        + (mp < 10 ? "0" : "") + std::to_string(mp) + "_model_states.pt";
}

void compare(uint32_t mp, const LayerFiles& files, const std::vector<int64_t>& experts, FindingSink& sink)
{
    for (uint32_t layer = 0; layer < experts.size(); ++layer) {
        const auto found = files.find(layer);
        for (int64_t expert = 0; expert < experts[layer]; ++expert) {
            const auto number = static_cast<uint32_t>(expert);
            if (found != files.end() && found->second.contains(number))
                continue;
            sink.add(Severity::Error,
                "the file of expert " + std::to_string(expert) + " of MoE layer " + std::to_string(layer)
                    + " is missing",
                fileName(layer, number, mp),
                {"`num_experts` says " + std::to_string(experts[layer]) + " for this layer"});
        }
    }
    for (const auto& [layer, numbers] : files) {
        const int64_t most = layer < experts.size() ? experts[layer] : 0;
        for (const uint32_t number : numbers) {
            if (int64_t{number} >= most)
                sink.add(Severity::Warning, "the file is of an expert that the model does not have",
                    fileName(layer, number, mp),
                    {"`num_experts` says " + std::to_string(most) + " for this layer"});
        }
    }
}

/// Releases before 0.19.3 write an optimizer file for every expert-parallel rank, with every ZeRO stage.
void lookAtOptimizers(const CheckContext& context, FindingSink& sink)
{
    std::set<std::string_view> there;
    for (const FolderEntry& entry : context.tag) {
        if (entry.name.starts_with("expp_rank_"))
            there.insert(entry.name);
    }
    for (uint32_t rank = 0; !there.empty() && rank < context.checkpoint->parallel.ep; ++rank) {
        const std::string name = "expp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt";
        if (!there.contains(name))
            sink.add(Severity::Warning, "the optimizer file of this expert-parallel rank is missing", name,
                {"the others have one"});
    }
}

Status findMoeIncomplete(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint)
        return {};
    const ModelStates model = modelStates(*context.checkpoint);
    if (!model || model.graph->kind(model.numExperts) != NodeKind::List)
        return {}; // one number for all layers: files of old releases, which name no layer
    std::vector<int64_t> experts;
    for (const NodeId item : sequenceItems(*model.graph, model.numExperts)) {
        const auto count = asInteger(*model.graph, item);
        if (!count)
            return {};
        experts.push_back(*count);
    }
    // Without expert files, experts are in ZeRO's shards (AutoEP of ZeRO-3), or readers report them. Folded
    // over tensor slices, every slice has some of the experts, and its reader knows which.
    if (model.folding == kNoNode) {
        for (const auto& [mp, files] : expertFiles(context))
            compare(mp, files, experts, sink);
    }
    if (context.hasModel())
        lookAtOptimizers(context, sink);
    return {};
}

/// Expert files against what the model file says of experts.
constexpr Diagnosis kMoeIncomplete{
    .code = "moe-incomplete",
    .letter = "S15",
    .name = "Expert files do not match the model",
    .depth = CheckDepth::Names,
    .countsFiles = true,
    .means = {.loading
        = "Stock DeepSpeed opens a file for every local expert and stops at the first that is missing, "
          "releases before 0.19.3 also at a missing optimizer file; extra files are not opened.",
        .resuming = "The masters of the experts are in the optimizer files of their expert-parallel ranks.",
        .exporting = "Weights of missing experts come from the masters."},
    .remedy = "rebuild the expert's file from its masters, in the form of another expert's file",
    .repairs = true,
    .repairsFrom = Severity::Error,
    .threads = "DS#5716, DS#8147, DS#8198, DS#2737, DS#4120, DS#5157",
    .look = findMoeIncomplete,
};

/// Adds a finding for each file with tensors that `wrong` explains; it returns nothing for the others.
void compareWeights(const std::vector<WeightFile>& files, const Checkpoint& whole, const std::string& what,
    const std::function<std::string(const SafeTensor&, const Parameter&)>& wrong, FindingSink& sink)
{
    for (const WeightFile& file : files) {
        size_t count = 0;
        std::vector<std::string> named;
        for (const SafeTensor& tensor : file.tensors) {
            const auto id = paramOfTensor(whole, tensor.name);
            const Parameter* param = id ? &whole.params[index(*id)] : nullptr;
            const std::string why = param != nullptr ? wrong(tensor, *param) : std::string();
            if (!why.empty() && ++count <= kMaxNamed)
                named.push_back("\"" + tensor.name + "\" has the shape " + shapeText(tensor.shape) + why
                    + shapeText(param->shape));
        }
        if (count > 0)
            sink.add(Severity::Error,
                std::to_string(count) + " of " + std::to_string(file.tensors.size()) + " tensors are " + what,
                file.name, std::move(named));
    }
}

std::string exportCommand(const CheckContext& context, const Finding& finding)
{
    return commandOn(context, "export") + " --format "
        + (finding.where.file().ends_with(".bin") ? "torch" : "safetensors");
}

Status findTensorParallelDropped(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || context.checkpoint->parallel.tp < 2)
        return {};
    const uint32_t slices = context.checkpoint->parallel.tp;
    SHARDSCOPE_TRY(const std::vector<WeightFile> files, weightFilesNextTo(context));
    if (files.empty())
        return {};
    // Without merge rules for the slices, the merged shapes are unknown.
    const auto merged = mergeSlicesAndStages(context.checkpoint);
    if (!merged)
        return {};
    const auto isSlice = [&](const SafeTensor& tensor, const Parameter& param) {
        return tensor.elements * slices == param.elements && tensor.shape.size() == param.shape.size()
            ? ", all slices together have "
            : "";
    };
    compareWeights(files, **merged, "one tensor slice of " + std::to_string(slices) + ", not merged tensors",
        isSlice, sink);
    return {};
}

/// Exported weights contain only the slice of the first tensor-parallel rank.
constexpr Diagnosis kTensorParallelDropped{
    .code = "tensor-parallel-dropped",
    .letter = "S14",
    .name = "Exported weights are one slice",
    .means = {.loading = "DeepSpeed's own files are complete and load.",
        .resuming
        = "Wrappers that take the weights from this file stop at a size mismatch, or build a smaller model.",
        .exporting = "All slices except one are missing in the file."},
    .remedy = "export the weights again, with all slices merged",
    .command = exportCommand,
    .threads = "DS#8168, DS#8185, DS#8474, DS#7320, MDS#224",
    .look = findTensorParallelDropped,
};

Status findEmptyPlaceholders(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || hasNoRunFolder(context.checkpoint->kind))
        return {};
    SHARDSCOPE_TRY(const std::vector<WeightFile> files, weightFilesNextTo(context));
    const auto isPlaceholder = [](const SafeTensor& tensor, const Parameter& param) {
        return (tensor.shape == Shape{0} || tensor.shape == Shape{1}) && param.elements >= 2
            ? ", the parameter has "
            : "";
    };
    compareWeights(
        files, *context.checkpoint, "empty placeholders of ZeRO-3, without weights", isPlaceholder, sink);
    return {};
}

/// Weights that were saved while ZeRO-3 had them partitioned.
constexpr Diagnosis kEmptyPlaceholders{
    .code = "empty-placeholders",
    .letter = "S11",
    .name = "Weights next to the checkpoint are placeholders",
    .means = {.loading = "DeepSpeed's own files are complete and load.",
        .resuming = "Wrappers that take the weights from this file stop at a size mismatch.",
        .exporting = "The file has no weights; they are in the optimizer shards."},
    .remedy = "export the weights again from the shards",
    .command = exportCommand,
    .threads = "HF#20082, OpenRLHF/OpenRLHF#839, DS#1394, HF#10789",
    .look = findEmptyPlaceholders,
};

Status findFrozenLost(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ModelStates model = modelStates(checkpoint);
    if (!model)
        return {};
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        const Parameter& param = checkpoint.params[i];
        if (param.role != ParamRole::Frozen || param.elements == 0 || param.sharedWith != kNoParam
            || isStoredAnywhere(checkpoint, ParamId{i}))
            continue;
        std::vector<std::string> evidence{
            "frozen_param_shapes names it, with " + std::to_string(param.elements) + " elements"};
        if (lookup(*model.graph, model.frozenParamFragments, param.name) == kNoNode)
            evidence.emplace_back("frozen_param_fragments does not have it");
        if (model.hasModule() && lookup(*model.graph, model.module, param.name) == kNoNode)
            evidence.emplace_back("the module does not list it");
        sink.add(Severity::Error, "no file holds the values of this frozen parameter",
            addressOf(checkpoint, ParamId{i}, "weight"), std::move(evidence));
    }
    return {};
}

/// Frozen parameters that are listed but not stored in any file.
constexpr Diagnosis kFrozenLost{
    .code = "frozen-lost",
    .letter = "S8",
    .name = "Frozen parameters are lost",
    .silent = true,
    .means = {.loading = "Stock DeepSpeed stops with a KeyError where fragments of others are recorded; "
                         "where none are, it keeps the values of the new model.",
        .resuming = "The trained part runs with frozen weights that it was not trained with, unless the base "
                    "model is loaded first.",
        .exporting = "These weights are missing or random in the export."},
    .remedy = "copy them from the base model's weights, or from a tag that has them (`--from`)",
    .repairs = true,
    .threads = "DS#3090, DS#3205, DS#5439, DS#5489, CarperAI/trlx#482, DS#8378",
    .look = findFrozenLost,
};

/// `buffer_names` lists persistent buffers only (runtime/engine.py, _get_buffer_names), and the module's
/// state dict has all of them. A pipeline's module is in layer files.
Status findBuffersLost(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const ModelStates model = modelStates(*context.checkpoint);
    if (!model.hasModule())
        return {};
    for (const NodeId item : sequenceItems(*model.graph, model.bufferNames)) {
        const auto name = asString(*model.graph, item);
        // Readers know the buffers that exist; searching the module for each one is slow.
        if (name && !context.checkpoint->findParam(*name)
            && lookup(*model.graph, model.module, *name) == kNoNode)
            sink.add(Severity::Warning, "the file lists this buffer but does not contain it",
                ParamAddress{std::string(*name), "weight"},
                {"`buffer_names` of `" + model.file->name + "` lists it, `module` does not have it"});
    }
    return {};
}

/// Persistent buffers that are listed but not stored.
constexpr Diagnosis kBuffersLost{
    .code = "buffers-lost",
    .letter = "S10",
    .name = "Buffers are lost",
    .worst = Severity::Warning,
    .means = {.loading = "Stock DeepSpeed stops at the missing key, or keeps the new model's buffer where "
                         "load_module_strict is off.",
        .resuming = "Running statistics, masks or caches are those of a new model.",
        .exporting = "The buffers are missing, silently."},
    .remedy = "take them from another tag of the run, or from the model's weights (`--from`)",
    .repairs = true,
    .threads = "DS#1101, DS#1146, DS#1062",
    .look = findBuffersLost,
};

/// The number of ranks that every optimizer file of the first model-parallel rank records, if exactly that
/// many files are there. Expert param groups have smaller counts; the largest count is that of all ranks.
std::optional<int64_t> countedByFiles(const Checkpoint& checkpoint)
{
    const Checkpoint& first = checkpoint.parts.empty() ? checkpoint : *checkpoint.parts.front();
    int64_t there = 0;
    std::optional<int64_t> counted;
    for (uint32_t i = 0; i < first.files.size(); ++i) {
        const OptimStates file = optimStates(first.file(FileId{i}));
        const auto parsed = parseCheckpointFileName(file.file->name);
        if (!parsed || parsed->role != FileRole::OptimStates || parsed->mp != first.modelRank
            || file.file->status == FileStatus::Missing)
            continue;
        ++there;
        if (!file)
            continue; // of a rank beyond the recorded number, or damaged
        std::optional<int64_t> most = asInteger(*file.graph, file.partitionCount);
        for (const NodeId item : sequenceItems(*file.graph, file.partitionCount))
            most = std::max(most, asInteger(*file.graph, item));
        if (!most || (counted && *counted != *most))
            return std::nullopt;
        counted = most;
    }
    return counted && *counted == there ? counted : std::nullopt;
}

/// Whether there is a model file of a slice or stage beyond `slices`.
bool hasModelFilesBeyond(const Checkpoint& checkpoint, int64_t slices)
{
    return std::any_of(checkpoint.files.begin(), checkpoint.files.end(), [&](const CheckpointFile& file) {
        const auto parsed = parseCheckpointFileName(file.name);
        return parsed && parsed->role == FileRole::ModelStates && parsed->mp >= slices;
    });
}

Status findBadWorldSizeField(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || !hasRankFiles(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ModelStates model = modelStates(checkpoint);
    if (!model)
        return {};
    const auto data = asInteger(*model.graph, model.dpWorldSize);
    const auto counted = countedByFiles(checkpoint);
    // MiCS saves the shards of one of several groups of ranks.
    const bool mayBeMics = partitionsParameters(checkpoint.kind) && data && counted && *data > *counted
        && *data % *counted == 0;
    if (data && counted && *data != *counted && !mayBeMics)
        sink.add(Severity::Error,
            "`dp_world_size` is " + std::to_string(*data) + ", but the optimizer files are those of "
                + std::to_string(*counted) + " ranks",
            model.file->name, {"`partition_count` in each of them is " + std::to_string(*counted)});
    const auto sliced = asInteger(*model.graph, model.mpWorldSize);
    const auto tp = asInteger(*model.graph, model.tpDegree);
    const auto pp = asInteger(*model.graph, model.ppDegree);
    const auto parts = tp && pp ? checkedMultiply(*tp, *pp) : std::nullopt;
    const bool areSequences = sliced && parts && countsSequenceRanks(*parts, *sliced, data.value_or(1))
        && !hasModelFilesBeyond(checkpoint, *sliced);
    if (sliced && tp && pp && parts != *sliced && !areSequences)
        sink.add(Severity::Error,
            "`mp_world_size` is " + std::to_string(*sliced) + ", but the model was saved in "
                + (parts ? std::to_string(*parts) : std::string("too many"))
                + (parts == 1 ? " part" : " parts"),
            model.file->name, {"tp_degree " + std::to_string(*tp) + ", pp_degree " + std::to_string(*pp)});
    return {};
}

/// Recorded numbers of ranks that contradict the files.
constexpr Diagnosis kBadWorldSizeField{
    .code = "bad-world-size-field",
    .letter = "S13",
    .name = "A wrong number of ranks is recorded",
    .means
    = {.loading = "Stock DeepSpeed compares `dp_world_size` with its own number of ranks, and "
                  "`mp_world_size` with the number of model files, and stops even if every file is there.",
        .resuming = "Nothing is lost: the shards are correct.",
        .exporting = "Export does not need the field."},
    .remedy = "set the number to the one that the files have",
    .repairs = true,
    .threads = "DS#4258, DS#7732",
    .look = findBadWorldSizeField,
};

constexpr std::array kDiagnoses{
    kModelChanged,
    kMoeIncomplete,
    kTensorParallelDropped,
    kEmptyPlaceholders,
    kFrozenLost,
    kBuffersLost,
    kBadWorldSizeField,

};

} // namespace

std::span<const Diagnosis> parametersDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
