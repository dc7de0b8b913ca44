// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/model_header.h"

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/engine_keys.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 25> kOwnKeys{"module", "buffer_names", "optimizer", "param_shapes",
    "frozen_param_shapes", "shared_params", "frozen_param_fragments", "lr_scheduler", "data_sampler",
    "random_ltd", "sparse_tensor_module_names", "csr_tensor_module_names", "skipped_steps", "global_steps",
    "global_samples", "dp_world_size", "mp_world_size", "checkpoint_parallel_dimensions", "ds_config",
    "ds_version", "universal_checkpoint_info", "num_experts", "ds_autoep_layers", "autoep_layers", "folding"};

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
        const NodeId enabled = configValue(reading, {"fp16", "enabled"});
        return enabled != kNoNode && asBool(graph, enabled).value_or(false) ? "fp16" : "fp32";
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

bool isEngineKey(std::string_view key)
{
    return std::find(kOwnKeys.begin(), kOwnKeys.end(), key) != kOwnKeys.end();
}

NodeId configValue(const Reading& reading, std::initializer_list<std::string_view> path)
{
    const PickleGraph* graph = graphOf(reading);
    if (graph == nullptr)
        return kNoNode;
    NodeId node = lookup(*graph, reading.modelRoot, "ds_config");
    for (const std::string_view key : path) {
        if (node == kNoNode)
            return kNoNode;
        node = lookup(*graph, node, key);
    }
    return node;
}

void readModelHeader(Reading& reading)
{
    const PickleGraph* graph = graphOf(reading);
    if (graph == nullptr)
        return;
    Checkpoint& out = reading.out;
    const auto integerAt
        = [&](std::string_view key) { return asInteger(*graph, lookup(*graph, reading.modelRoot, key)); };
    out.steps.globalSteps = integerAt("global_steps");
    out.steps.globalSamples = integerAt("global_samples");
    out.steps.skippedSteps = integerAt("skipped_steps");
    if (const auto version = asString(*graph, lookup(*graph, reading.modelRoot, "ds_version")))
        out.deepspeedVersion = std::string(*version);
    out.precision = precisionOf(reading, *graph);
    const auto items = mappingItems(*graph, reading.modelRoot);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(*graph, items[i]);
        if (key && !isEngineKey(*key))
            out.clientStateKeys.emplace_back(*key);
    }
}

} // namespace shardscope
