// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/unsupported.h"

#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/torchfile/pickle/foreign_tensors.h"

#include <algorithm>

namespace shardscope {

namespace {

bool isSet(const Reading& reading, std::initializer_list<std::string_view> path)
{
    const ModelStates model = modelStates(reading);
    const NodeId node = model.configValue(path);
    if (node == kNoNode || model.graph->kind(node) == NodeKind::None)
        return false;
    return asBool(*model.graph, node).value_or(true);
}

/// The converter merges what parallel ranks hold. Only its source's partition remains.
bool isUniversal(const Reading& reading)
{
    return isUniversal(reading.out.kind);
}

Status refuseByFiles(const Reading& reading)
{
    for (const CheckpointFile& file : reading.out.files) {
        const auto parsed = parseCheckpointFileName(file.name);
        if (file.role == FileRole::Swap && !partitionsParameters(reading.out.kind))
            return fail(ErrorCode::Unsupported,
                "part of its optimizer state is offloaded to NVMe (`" + file.name + "`)");
        if (!parsed)
            continue;
        if (parsed->fastWriterPart)
            return fail(ErrorCode::Unsupported,
                "`" + file.name + "` is one part of a file split by the fast checkpoint writer");
        if (isUniversal(reading))
            continue;
        if (parsed->role == FileRole::ExpertStates && !parsed->expert && file.name.starts_with("expert_"))
            return fail(ErrorCode::Unsupported,
                "`" + file.name + "` has the experts of all layers, as releases before 0.6.0 wrote them");
    }
    return {};
}

bool isListed(const Reading& reading, std::string_view key)
{
    const PickleGraph& graph = reading.content(reading.out.templateModel)->pickle();
    return !sequenceItems(graph, lookup(graph, reading.modelRoot, key)).empty();
}

/// AutoEP: refuses if the experts' tensors are in a form that FusedExperts does not support.
Status refuseByFusedExperts(const Reading& reading)
{
    const PickleGraph& graph = reading.content(reading.out.templateModel)->pickle();
    const std::string why = "AutoEP keeps the experts of a layer in one tensor (`ds_autoep_layers`), ";
    const CheckpointKind kind = reading.out.kind;
    const bool zero3 = partitionsParameters(kind);
    if (!zero3 && !partitionsGroups(kind))
        return fail(ErrorCode::Unsupported, why + "which this build reads for ZeRO-1, 2 and 3 only");
    const bool swapped = std::any_of(reading.out.files.begin(), reading.out.files.end(),
        [](const CheckpointFile& file) { return file.role == FileRole::Swap; });
    if (swapped)
        return fail(
            ErrorCode::Unsupported, why + "and this build does not know which of its swap files are theirs");
    if (!hasBf16Optimizer(kind) && !zero3 && isSet(reading, {"zero_optimization", "round_robin_gradients"}))
        return fail(ErrorCode::Unsupported, why + "and round_robin_gradients distributes them as one");
    if (isSet(reading, {"zero_optimization", "zenflow"}))
        return fail(
            ErrorCode::Unsupported, why + "and this build does not know which of them ZenFlow transposes");
    SHARDSCOPE_TRY(const auto fused, FusedExperts::read(graph, reading.modelRoot, zero3));
    if (fused.slices() != reading.modelRanks)
        return fail(ErrorCode::Unsupported,
            why + "and `folding` records " + std::to_string(fused.slices()) + " tensor slices, where "
                + std::to_string(reading.modelRanks) + " model-parallel ranks saved");
    const auto frozen = mappingItems(graph, lookup(graph, reading.modelRoot, "frozen_param_shapes"));
    for (size_t i = 0; i + 1 < frozen.size(); i += 2) {
        if (const auto name = asString(graph, frozen[i]); name && fused.layerOf(*name) != nullptr)
            return fail(ErrorCode::Unsupported, why + "and only the frozen ones of rank 0 are recorded");
    }
    for (const auto& group : readParamShapes(reading).value_or(ShapeLists())) {
        if (std::any_of(group.begin(), group.end(),
                [](const NamedShape& entry) { return parseExpertName(entry.name).has_value(); }))
            return fail(ErrorCode::Unsupported, why + "and the model has layers with native experts, too");
    }
    return {};
}

Status refuseByModelFile(const Reading& reading)
{
    if (reading.modelRoot == kNoNode)
        return {};
    const PickleGraph& graph = reading.content(reading.out.templateModel)->pickle();
    const bool orderShows = isZero12(reading.out.kind); // decideZenFlow() checks it
    if (!orderShows && isSet(reading, {"zero_optimization", "zenflow"}))
        return fail(ErrorCode::Unsupported,
            isUniversal(reading)
                ? "it was converted from a ZenFlow checkpoint by a converter that leaves matrices in the "
                  "order that they had there, and no file records which"
                : "ZenFlow's order of matrices is known for ZeRO-1 and ZeRO-2 only");
    // engine.py, _get_param_fragment_func, saves the detached 8-bit codes of ds_tensor. Their scales are an
    // attribute (partition_parameters.py, ds_quant_scale), which is lost.
    const bool frozen = !mappingItems(graph, lookup(graph, reading.modelRoot, "frozen_param_shapes")).empty();
    if (frozen && isSet(reading, {"zero_optimization", "zero_quantized_nontrainable_weights"}))
        return fail(ErrorCode::Unsupported,
            "its frozen weights are quantised, and DeepSpeed saves them without their scales");
    if (isUniversal(reading))
        return {};
    if (isListed(reading, "autoep_layers"))
        return fail(
            ErrorCode::Unsupported, "AutoEP keeps the experts of a layer in one tensor (`autoep_layers`)");
    if (isListed(reading, "ds_autoep_layers"))
        return refuseByFusedExperts(reading);
    return {};
}

/// Its tensors are sound, but need the library of an accelerator.
Status refuseByTensors(const Reading& reading)
{
    for (const FileId file : {reading.out.templateModel, reading.out.templateOptim}) {
        const TorchFile* content = reading.content(file);
        const auto library = content != nullptr ? foreignTensors(content->pickle()) : std::nullopt;
        if (library)
            return fail(ErrorCode::Unsupported,
                "its tensors were saved by " + *library + ", in a form that this build does not read");
    }
    return {};
}

} // namespace

Status refuseUnsupported(const Reading& reading)
{
    SHARDSCOPE_CHECK(refuseByTensors(reading));
    SHARDSCOPE_CHECK(refuseByFiles(reading));
    return refuseByModelFile(reading);
}

} // namespace shardscope
