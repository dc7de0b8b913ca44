// SPDX-License-Identifier: Apache-2.0
#include "ui/models/whole_groups.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

/// One rank's shards of several sub-groups as one: missing as soon as one of them is.
StoredRun mergedRun(const Checkpoint& checkpoint, const std::vector<UnitId>& units, size_t state, size_t rank)
{
    StoredRun merged;
    for (const UnitId id : units) {
        const auto& states = checkpoint.units[index(id)].states;
        if (state >= states.size() || rank >= states[state].perRank.size()
            || !states[state].perRank[rank].isPresent())
            return {};
        merged.file = states[state].perRank[rank].file;
        merged.elements += states[state].perRank[rank].elements;
    }
    merged.record = StoredRun::kNoRecord;
    return merged;
}

FlatUnit mergedUnit(const Checkpoint& checkpoint, const ParamGroup& group)
{
    const FlatUnit& first = checkpoint.units[index(group.units.front())];
    FlatUnit unit;
    if (group.units.size() == 1) {
        unit = first;
        unit.kind = UnitKind::Group;
        unit.subgroup.reset();
        return unit;
    }
    unit.group = static_cast<int32_t>(group.index);
    std::vector<uint64_t> elements;
    for (const UnitId id : group.units)
        for (const ParamId param : checkpoint.units[index(id)].params) {
            unit.params.push_back(param);
            elements.push_back(checkpoint.params[index(param)].elements);
        }
    // The sums fit the partition if the parts did; otherwise the map stays empty.
    if (auto partition = FlatPartition::sliced(std::move(elements), first.partition.ranks()))
        unit.partition = std::move(*partition);
    else
        unit.params.clear();
    for (size_t state = 0; state < first.states.size(); ++state) {
        UnitState merged;
        merged.name = first.states[state].name;
        merged.dtype = first.states[state].dtype;
        for (size_t rank = 0; rank < first.partition.ranks(); ++rank)
            merged.perRank.push_back(mergedRun(checkpoint, group.units, state, rank));
        unit.states.push_back(std::move(merged));
    }
    return unit;
}

/// Sub-groups follow one another on the same ranks; units of several holders are drawn by themselves.
bool isOfSubGroups(const Checkpoint& checkpoint, const ParamGroup& group)
{
    return !group.units.empty() && checkpoint.parts.empty()
        && checkpoint.units[index(group.units.front())].kind == UnitKind::SubGroup;
}

} // namespace

size_t subGroupsOf(const Checkpoint& checkpoint, const ParamGroup& group)
{
    return static_cast<size_t>(std::count_if(group.units.begin(), group.units.end(), [&](UnitId id) {
        const FlatUnit& unit = checkpoint.units[index(id)];
        return unit.kind == UnitKind::SubGroup && unit.part == 0;
    }));
}

size_t subGroupsOf(const Checkpoint& checkpoint)
{
    size_t count = 0;
    size_t most = 0;
    for (const ParamGroup& group : checkpoint.groups) {
        const size_t of = subGroupsOf(checkpoint, group);
        count += of;
        most = std::max(most, of);
    }
    return most > 1 ? count : 0;
}

bool hasSubGroups(const Checkpoint& checkpoint)
{
    return std::any_of(checkpoint.groups.begin(), checkpoint.groups.end(),
        [&](const ParamGroup& group) { return isOfSubGroups(checkpoint, group); });
}

CheckpointPtr withWholeGroups(const Checkpoint& checkpoint)
{
    auto whole = std::make_shared<Checkpoint>(checkpoint);
    whole->units.clear();
    for (size_t i = 0; i < whole->files.size(); ++i) {
        whole->files[i].path.clear();
        if (FileId{static_cast<uint32_t>(i)} != whole->templateOptim)
            whole->files[i].content.reset();
    }
    for (ParamGroup& group : whole->groups) {
        if (group.units.empty())
            continue;
        whole->units.push_back(isOfSubGroups(checkpoint, group)
                ? mergedUnit(checkpoint, group)
                : checkpoint.units[index(group.units.front())]);
        group.units = {UnitId{static_cast<uint32_t>(whole->units.size() - 1)}};
    }
    for (const FlatUnit& unit : checkpoint.units)
        if (unit.kind == UnitKind::Frozen)
            whole->units.push_back(unit);
    for (size_t i = 0; i < whole->units.size(); ++i)
        for (size_t at = 0; at < whole->units[i].params.size(); ++at) {
            Parameter& param = whole->params[index(whole->units[i].params[at])];
            param.unit = UnitId{static_cast<uint32_t>(i)};
            param.indexInUnit = static_cast<uint32_t>(at);
        }
    return whole;
}

} // namespace shardscope::ui
