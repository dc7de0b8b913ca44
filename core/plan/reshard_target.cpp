// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard_target.h"

#include "core/partition/round_robin.h"

namespace shardscope {

namespace {

std::string unitText(const FlatUnit& unit)
{
    return unit.subgroup ? "sub-group " + std::to_string(*unit.subgroup)
                         : "group " + std::to_string(unit.group);
}

/// States of the target: the source's without its stored runs.
std::vector<UnitState> statesFor(const Checkpoint& source, const FlatUnit& from)
{
    std::vector<UnitState> out;
    for (const UnitState& state : from.states) {
        UnitState copy;
        copy.name = state.name;
        copy.dtype = state.dtype;
        copy.lean
            = state.name == "fp32" && from.kind == UnitKind::Group && source.kind != CheckpointKind::Bf16;
        out.push_back(std::move(copy));
    }
    return out;
}

Status checkAlike(const FlatUnit& first, const FlatUnit& other)
{
    bool same = first.states.size() == other.states.size() && first.step == other.step;
    for (size_t i = 0; same && i < first.states.size(); ++i)
        same = first.states[i].name == other.states[i].name && first.states[i].dtype == other.states[i].dtype;
    if (same)
        return {};
    return fail(ErrorCode::Refused,
        unitText(first) + " and " + unitText(other)
            + " of one param group differ in step or states, so their parameters cannot share a new "
              "sub-group");
}

FlatUnit targetUnit(const Checkpoint& source, const FlatUnit& from, std::vector<ParamId> params)
{
    FlatUnit unit;
    unit.kind = from.kind;
    unit.group = from.group;
    unit.params = std::move(params);
    unit.states = statesFor(source, from);
    unit.step = from.step;
    return unit;
}

std::vector<uint64_t> elementsOf(const Checkpoint& source, const std::vector<ParamId>& params)
{
    std::vector<uint64_t> out;
    out.reserve(params.size());
    for (const ParamId param : params)
        out.push_back(source.params[index(param)].elements);
    return out;
}

/// Under round_robin_gradients a group stands in another order at every number of ranks.
std::vector<ParamId> groupOrder(const Checkpoint& source, const FlatUnit& from, uint32_t ranks)
{
    if (!source.roundRobin)
        return from.params;
    std::vector<ParamId> out;
    out.reserve(from.params.size());
    const auto count = static_cast<uint32_t>(from.params.size());
    for (const uint32_t place : roundRobinMoves(count, from.partition.ranks(), ranks))
        out.push_back(from.params[place]);
    return out;
}

Status addGroup(const Checkpoint& source, const FlatUnit& from, ReshardTarget& out)
{
    FlatUnit unit = targetUnit(source, from, groupOrder(source, from, out.ranks));
    SHARDSCOPE_TRY(unit.partition,
        FlatPartition::contiguous(
            elementsOf(source, unit.params), out.ranks, 2, from.partition.parameterAlignment()));
    out.units.push_back(std::make_shared<const FlatUnit>(std::move(unit)));
    return {};
}

Status addSubGroups(
    const Checkpoint& source, const ParamGroup& group, uint64_t subGroupSize, ReshardTarget& out)
{
    out.subGroupsOfGroup.emplace_back();
    if (group.units.empty())
        return {};
    const FlatUnit& first = source.units[index(group.units.front())];
    std::vector<ParamId> params;
    for (const UnitId id : group.units) {
        const FlatUnit& unit = source.units[index(id)];
        SHARDSCOPE_CHECK(checkAlike(first, unit));
        params.insert(params.end(), unit.params.begin(), unit.params.end());
    }
    const std::vector<uint64_t> elements = elementsOf(source, params);
    for (const SubGroupRange& range : splitIntoSubGroups(elements, out.ranks, subGroupSize)) {
        FlatUnit unit = targetUnit(source, first, {params.begin() + range.begin, params.begin() + range.end});
        SHARDSCOPE_TRY(unit.partition,
            FlatPartition::sliced({elements.begin() + range.begin, elements.begin() + range.end}, out.ranks));
        unit.subgroup = static_cast<uint32_t>(out.units.size());
        out.subGroupsOfGroup.back().push_back(*unit.subgroup);
        out.units.push_back(std::make_shared<const FlatUnit>(std::move(unit)));
    }
    return {};
}

Status addFrozen(const Checkpoint& source, const FlatUnit& from, ReshardTarget& out)
{
    FlatUnit unit = targetUnit(source, from, from.params);
    SHARDSCOPE_TRY(unit.partition, FlatPartition::sliced(elementsOf(source, from.params), out.ranks));
    out.units.push_back(std::make_shared<const FlatUnit>(std::move(unit)));
    return {};
}

} // namespace

Result<ReshardTarget> layOutTarget(const Checkpoint& source, uint32_t ranks, uint64_t subGroupSize)
{
    ReshardTarget out;
    out.ranks = ranks;
    if (source.kind == CheckpointKind::Zero3) {
        for (const ParamGroup& group : source.groups)
            SHARDSCOPE_CHECK(addSubGroups(source, group, subGroupSize, out));
    }
    for (const FlatUnit& unit : source.units) {
        if (unit.kind == UnitKind::Group)
            SHARDSCOPE_CHECK(addGroup(source, unit, out));
        else if (unit.kind == UnitKind::Frozen)
            SHARDSCOPE_CHECK(addFrozen(source, unit, out));
    }
    return out;
}

} // namespace shardscope
