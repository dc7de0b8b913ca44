// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/slices/merged_slices.h"

namespace shardscope {

namespace {

Status checkAlike(const Checkpoint& of, uint32_t group, const FlatUnit& guide)
{
    for (const FlatUnit& unit : of.units) {
        if (unit.group != static_cast<int32_t>(group))
            continue;
        bool same = unit.step == guide.step && unit.states.size() == guide.states.size();
        for (size_t i = 0; same && i < unit.states.size(); ++i)
            same = unit.states[i].name == guide.states[i].name
                && unit.states[i].dtype == guide.states[i].dtype;
        if (!same)
            return fail(ErrorCode::Refused,
                "the model-parallel ranks differ in step or states of param group " + std::to_string(group),
                of.tagFolder.string());
    }
    return {};
}

FlatUnit wholeUnit(const Checkpoint& of, const FlatUnit& guide)
{
    FlatUnit unit;
    unit.kind = UnitKind::Whole;
    unit.group = guide.group;
    unit.step = guide.step;
    unit.stepForm = guide.stepForm;
    unit.stepType = guide.stepType;
    unit.stateNode = guide.stateNode;
    for (const UnitState& state : guide.states) {
        UnitState merged;
        merged.name = state.name;
        merged.dtype = state.dtype;
        merged.perRank = {StoredRun{of.templateOptim, StoredRun::kNoRecord, 0, 0}};
        unit.states.push_back(std::move(merged));
    }
    return unit;
}

} // namespace

const Checkpoint& storedUnder(const Checkpoint& checkpoint)
{
    const Checkpoint* out = &checkpoint;
    while (out->merged)
        out = out->merged->of.get();
    return *out;
}

std::shared_ptr<Checkpoint> emptyMerged(const Checkpoint& of)
{
    auto out = std::make_shared<Checkpoint>(of);
    out->parts.clear();
    out->params.clear();
    out->paramByName.clear();
    out->units.clear();
    out->whole.clear();
    out->groups.clear();
    out->parallel = {of.parallel.dp, 1, 1, 1};
    return out;
}

Status addMergedUnits(const Checkpoint& of, const std::vector<std::vector<ParamId>>& order, Checkpoint& out)
{
    const Checkpoint& first = of.parts.empty() ? of : *of.parts.front();
    for (size_t g = 0; g < first.groups.size(); ++g) {
        ParamGroup group = first.groups[g];
        if (group.units.empty())
            continue;
        const FlatUnit& guide = first.units[index(group.units.front())];
        SHARDSCOPE_CHECK(checkAlike(of, group.index, guide));
        FlatUnit unit = wholeUnit(of, guide);
        const UnitId id{static_cast<uint32_t>(out.units.size())};
        std::vector<uint64_t> elements;
        for (const ParamId param : order[g]) {
            Parameter& member = out.params[index(param)];
            member.unit = id;
            member.group = unit.group;
            member.indexInUnit = static_cast<uint32_t>(unit.params.size());
            unit.params.push_back(param);
            elements.push_back(member.elements);
        }
        SHARDSCOPE_TRY(unit.partition, FlatPartition::contiguous(elements, 1, 1));
        group.units = {id};
        group.elements = unit.partition.payloadElements();
        group.parameters = unit.params.size();
        out.groups.push_back(std::move(group));
        out.units.push_back(std::move(unit));
    }
    return {};
}

} // namespace shardscope
