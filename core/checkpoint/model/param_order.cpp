// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/param_order.h"

#include "core/partition/round_robin.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

std::vector<uint32_t> samePlaces(const FlatUnit& unit)
{
    std::vector<uint32_t> places(unit.params.size());
    std::iota(places.begin(), places.end(), 0u);
    return places;
}

std::vector<uint32_t> roundRobinPlaces(const FlatUnit& unit)
{
    return roundRobinOrder(static_cast<uint32_t>(unit.params.size()), unit.partition.ranks());
}

Status addUnit(const Checkpoint& checkpoint, const FlatUnit& unit, std::vector<uint32_t> places,
    uint32_t alignment, ParamOrder& out)
{
    std::vector<uint64_t> elements(places.size());
    for (size_t i = 0; i < places.size(); ++i)
        elements[places[i]] = checkpoint.params[index(unit.params[i])].elements;
    SHARDSCOPE_TRY(FlatPartition partition,
        FlatPartition::contiguous(std::move(elements), unit.partition.ranks(), 2, alignment));
    out.partitions.push_back(std::move(partition));
    out.places.push_back(std::move(places));
    return {};
}

bool hasPaddingBetween(const FlatPartition& partition)
{
    for (uint32_t param = 0; partition.parameterAlignment() > 1 && param < partition.paramCount(); ++param) {
        if (partition.paddingAfter(param) > 0)
            return true;
    }
    return false;
}

} // namespace

ParamOrder listedOrder(const Checkpoint& checkpoint)
{
    ParamOrder out;
    for (const FlatUnit& unit : checkpoint.units) {
        out.partitions.push_back(unit.partition);
        out.places.push_back(samePlaces(unit));
    }
    return out;
}

Result<ParamOrder> orderBeforeRoundRobin(const Checkpoint& checkpoint)
{
    ParamOrder out;
    for (const FlatUnit& unit : checkpoint.units)
        SHARDSCOPE_CHECK(
            addUnit(checkpoint, unit, roundRobinPlaces(unit), unit.partition.parameterAlignment(), out));
    return out;
}

Result<ParamOrder> orderAfterRoundRobin(const Checkpoint& checkpoint)
{
    ParamOrder out;
    for (const FlatUnit& unit : checkpoint.units) {
        const std::vector<uint32_t> order = roundRobinPlaces(unit);
        std::vector<uint32_t> places(order.size());
        for (uint32_t place = 0; place < order.size(); ++place)
            places[order[place]] = place;
        SHARDSCOPE_CHECK(
            addUnit(checkpoint, unit, std::move(places), unit.partition.parameterAlignment(), out));
    }
    return out;
}

Result<ParamOrder> stockMappingOrder(const Checkpoint& checkpoint)
{
    ParamOrder out;
    for (const FlatUnit& unit : checkpoint.units) {
        if (!hasPaddingBetween(unit.partition)) {
            SHARDSCOPE_CHECK(addUnit(checkpoint, unit, roundRobinPlaces(unit), 1, out));
            continue;
        }
        out.partitions.push_back(unit.partition);
        out.places.push_back(samePlaces(unit));
    }
    return out;
}

bool roundRobinMatters(const Checkpoint& checkpoint)
{
    return std::any_of(checkpoint.units.begin(), checkpoint.units.end(),
        [](const FlatUnit& unit) { return roundRobinPlaces(unit) != samePlaces(unit); });
}

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
