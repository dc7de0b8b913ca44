// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/shard_group.h"

#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/model/optim_states.h"

namespace shardscope {

std::optional<uint32_t> shardGroupRanks(const Reading& reading, FileId optimFile)
{
    if (reading.content(optimFile) == nullptr || reading.modelRoot == kNoNode)
        return std::nullopt;
    const NodeId size = configValue(reading, {"zero_optimization", "mics_shard_size"});
    if (size == kNoNode
        || asInteger(reading.content(reading.out.templateModel)->pickle(), size).value_or(-1) <= 0)
        return std::nullopt;
    const PickleGraph& graph = reading.content(optimFile)->pickle();
    const NodeId wrapper = wrapperOf(graph);
    const auto count = asInteger(graph, lookup(graph, wrapper, "partition_count"));
    if (!count || *count <= 0 || *count > 1'000'000)
        return std::nullopt;
    return static_cast<uint32_t>(*count);
}

} // namespace shardscope
