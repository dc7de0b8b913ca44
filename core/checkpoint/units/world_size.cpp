// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/world_size.h"

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/shard_group.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

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
