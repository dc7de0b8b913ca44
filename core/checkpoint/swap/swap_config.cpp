// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/swap/swap.h"

#include <algorithm>

namespace shardscope {

namespace {

bool isTrue(const Reading& reading, std::initializer_list<std::string_view> path)
{
    const NodeId node = configValue(reading, path);
    return node != kNoNode
        && asBool(reading.content(reading.out.templateModel)->pickle(), node).value_or(false);
}

} // namespace

SwapConfig readSwapConfig(const Reading& reading)
{
    SwapConfig out;
    const PickleGraph& graph = reading.content(reading.out.templateModel)->pickle();
    const NodeId zero = configValue(reading, {"zero_optimization"});
    out.known = zero != kNoNode && isMapping(graph, zero);
    const NodeId device = configValue(reading, {"zero_optimization", "offload_optimizer", "device"});
    if (const auto text = asString(graph, device))
        out.nvme = *text == "nvme";
    else if (device != kNoNode) // OffloadDeviceEnum, from configurations built in Python
        out.nvme = nodeText(graph, device).find("nvme") != std::string::npos;
    out.pipelined = isTrue(reading, {"zero_optimization", "offload_optimizer", "pipeline_read"})
        || isTrue(reading, {"zero_optimization", "offload_optimizer", "pipeline_write"})
        || isTrue(reading, {"zero_optimization", "offload_optimizer", "pipeline"});
    if (const auto block = asInteger(graph, configValue(reading, {"aio", "block_size"})); block && *block > 0)
        out.minBytes = std::max(out.minBytes, static_cast<uint64_t>(*block));
    if (isTrue(reading, {"bf16", "bf16_master_weights_and_grads"}))
        out.masterType = DType::BFloat16;
    if (isTrue(reading, {"fp16", "fp16_master_weights_and_grads"}))
        out.masterType = DType::Float16;
    return out;
}

} // namespace shardscope
