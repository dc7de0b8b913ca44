// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/reading.h"

namespace shardscope {

namespace {

bool isSet(const Reading& reading, std::initializer_list<std::string_view> path)
{
    const NodeId node = configValue(reading, path);
    if (node == kNoNode)
        return false;
    const PickleGraph& graph = reading.content(reading.out.rank0Model)->pickle();
    if (graph.kind(node) == NodeKind::None)
        return false;
    return asBool(graph, node).value_or(true);
}

/// The converter joins what parallel ranks hold, so only the partition of its source is left.
bool isUniversal(const Reading& reading)
{
    return reading.out.kind == CheckpointKind::Universal;
}

void refuseByFiles(const Reading& reading)
{
    for (const CheckpointFile& file : reading.out.files) {
        const auto parsed = parseCheckpointFileName(file.name);
        if (file.role == FileRole::Swap && reading.out.kind != CheckpointKind::Zero3)
            return reading.refuse("part of its optimizer state is offloaded to NVMe (`" + file.name + "`)");
        if (!parsed)
            continue;
        if (parsed->fastWriterPart)
            return reading.refuse(
                "`" + file.name + "` is one part of a file split by the fast checkpoint writer");
        if (isUniversal(reading))
            continue;
        if (parsed->role == FileRole::ExpertStates && !parsed->expert && file.name.starts_with("expert_"))
            return reading.refuse(
                "`" + file.name + "` has the experts of all layers, as releases before 0.6.0 wrote them");
    }
}

void refuseByModelFile(const Reading& reading)
{
    if (reading.modelRoot == kNoNode)
        return;
    const PickleGraph& graph = reading.content(reading.out.rank0Model)->pickle();
    const bool orderShows = reading.out.kind == CheckpointKind::Zero1
        || reading.out.kind == CheckpointKind::Zero2; // decideZenFlow() looks
    if (!orderShows && isSet(reading, {"zero_optimization", "zenflow"}))
        return reading.refuse(isUniversal(reading)
                ? "it was made from a ZenFlow checkpoint by a converter that leaves matrices in the order "
                  "that "
                  "they had there, and nothing tells which that was"
                : "ZenFlow's order of matrices is known of ZeRO-1 and ZeRO-2 only");
    const bool frozen = !mappingItems(graph, lookup(graph, reading.modelRoot, "frozen_param_shapes")).empty();
    if (frozen && isSet(reading, {"zero_optimization", "zero_quantized_nontrainable_weights"}))
        return reading.refuse("its frozen weights are quantised without their scales");
    if (isUniversal(reading))
        return;
    for (const std::string_view key : {"ds_autoep_layers", "autoep_layers"}) {
        if (!sequenceItems(graph, lookup(graph, reading.modelRoot, key)).empty())
            return reading.refuse(
                "AutoEP keeps the experts of a layer in one tensor (`" + std::string(key) + "`)");
    }
}

} // namespace

void refuseUnsupported(const Reading& reading)
{
    refuseByFiles(reading);
    refuseByModelFile(reading);
}

} // namespace shardscope
