// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/optimizer_order.h"

#include "core/partition/round_robin.h"

namespace shardscope {

std::vector<ParamId> optimizerOrder(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    if (!checkpoint.roundRobin || unit.kind != UnitKind::Group)
        return unit.params;
    std::vector<ParamId> out;
    const auto count = static_cast<uint32_t>(unit.params.size());
    for (const uint32_t place : roundRobinMoves(count, unit.partition.ranks(), 1))
        out.push_back(unit.params[place]);
    return out;
}

std::vector<ParamId> optimizerOrder(const Checkpoint& checkpoint, const ParamGroup& group)
{
    std::vector<ParamId> out;
    for (const UnitId unit : group.units) {
        const auto params = optimizerOrder(checkpoint, checkpoint.units[index(unit)]);
        out.insert(out.end(), params.begin(), params.end());
    }
    return out;
}

} // namespace shardscope
