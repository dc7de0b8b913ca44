// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/model_header.h"

#include "core/checkpoint/folder/reading_state.h"

#include <array>
#include <utility>

namespace shardscope {

namespace {

const PickleGraph* graphOf(const Reading& reading)
{
    const TorchFile* file = reading.content(reading.out.templateModel);
    return file == nullptr ? nullptr : &file->pickle();
}

/// The 16-bit dtype of the model, from the first floating tensor of `module`.
std::string precisionOf(const Reading& reading, const PickleGraph& graph)
{
    if (reading.bf16Prefix)
        return "bf16";
    const NodeId module = lookup(graph, reading.modelRoot, "module");
    if (module != kNoNode
        && graph.kind(module) == NodeKind::None) { // a pipeline keeps its weights in layer files
        return modelStates(reading).configFlag({"fp16", "enabled"}) ? "fp16" : "fp32";
    }
    const auto items = mappingItems(graph, module);
    for (size_t i = 1; i < items.size(); i += 2) {
        const auto tensor = asTensor(graph, items[i]);
        if (!tensor)
            continue;
        if (tensor->dtype == DType::Float16)
            return "fp16";
        if (tensor->dtype == DType::BFloat16)
            return "bf16";
    }
    return "fp32";
}

} // namespace

ModelStates modelStates(const Reading& reading)
{
    const PickleGraph* graph = graphOf(reading);
    return graph == nullptr || reading.modelRoot == kNoNode ? ModelStates{} : modelStates(*graph);
}

void readModelHeader(Reading& reading)
{
    const PickleGraph* graph = graphOf(reading);
    if (graph == nullptr)
        return;
    Checkpoint& out = reading.out;
    const ModelStates model = modelStates(*graph);
    out.steps.globalSteps = asInteger(*graph, model.globalSteps);
    out.steps.globalSamples = asInteger(*graph, model.globalSamples);
    out.steps.skippedSteps = asInteger(*graph, model.skippedSteps);
    if (const auto version = asString(*graph, model.version))
        out.deepspeedVersion = std::string(*version);
    out.precision = precisionOf(reading, *graph);
    const auto items = mappingItems(*graph, reading.modelRoot);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(*graph, items[i]);
        if (key && !isEngineKey(*key))
            out.clientStateKeys.emplace_back(*key);
    }
}

std::optional<int> zeroStageOf(const PickleGraph& graph, NodeId wrapper)
{
    const NodeId stage = lookup(graph, wrapper, "zero_stage");
    if (stage == kNoNode)
        return std::nullopt;
    const auto byName = [](std::string_view name) -> std::optional<int64_t> {
        static constexpr std::array<std::pair<std::string_view, int64_t>, 4> kNames{
            {{"disabled", 0}, {"optimizer_states", 1}, {"gradients", 2}, {"weights", 3}}};
        for (const auto& [known, number] : kNames) {
            if (name == known)
                return number;
        }
        return std::nullopt;
    };
    const auto number = asEnumValue(graph, stage, "deepspeed.runtime.zero.config", "ZeroStageEnum", byName);
    const int64_t value = number.value_or(asInteger(graph, stage).value_or(0));
    return value >= 0 && value <= 3 ? static_cast<int>(value) : 0;
}

} // namespace shardscope
