// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/checkpoint.h"

#include "core/checkpoint/model/wrapped_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace shardscope {

std::string_view fileRoleName(FileRole role)
{
    switch (role) {
    case FileRole::ModelStates:
        return "model-states";
    case FileRole::OptimStates:
        return "optim-states";
    case FileRole::LayerStates:
        return "layer-states";
    case FileRole::ExpertStates:
        return "expert-states";
    case FileRole::Pointer:
        return "pointer";
    case FileRole::Script:
        return "script";
    case FileRole::Manifest:
        return "manifest";
    case FileRole::Swap:
        return "swap";
    case FileRole::Other:
        return "other";
    }
    return "other";
}

std::string_view fileStatusName(FileStatus status)
{
    switch (status) {
    case FileStatus::Ok:
        return "ok";
    case FileStatus::Missing:
        return "missing";
    case FileStatus::Damaged:
        return "damaged";
    case FileStatus::Stale:
        return "stale";
    case FileStatus::Foreign:
        return "foreign";
    case FileStatus::NotYetRead:
        return "not-yet-read";
    }
    return "damaged";
}

const ElementMap& UnitState::map() const
{
    static const BufferMap kBuffers;
    return elements ? *elements : kBuffers;
}

const StoredRun* UnitState::tensorOf(size_t position) const
{
    const ElementMap::Shares tensors = map().tensors();
    return position < tensors.size() && tensors[position].isPresent() ? &tensors[position] : nullptr;
}

FlatAddress flatAddressOf(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t partitionRank,
    uint64_t element, std::string state)
{
    const bool subgroup = unit.kind == UnitKind::SubGroup;
    const uint32_t group = unit.group < 0 ? 0 : static_cast<uint32_t>(unit.group);
    return {checkpoint.rankOf(unit, partitionRank), subgroup, subgroup ? unit.subgroup.value_or(0) : group,
        element, std::move(state)};
}

std::optional<uint32_t> FlatUnit::partitionRankOf(uint32_t dpRank) const
{
    if (dpRank < firstRank || (dpRank - firstRank) % rankStride != 0)
        return std::nullopt;
    const uint32_t rank = (dpRank - firstRank) / rankStride;
    return rank < partition.ranks() ? std::optional(rank) : std::nullopt;
}

RankCoordinate Checkpoint::rankOf(const FlatUnit& unit, uint32_t partitionRank) const
{
    const RankCoordinate& of = partOf(unit).place;
    return {unit.dpRankOf(partitionRank), of.tp, of.pp};
}

std::optional<uint32_t> Checkpoint::shareOf(const FlatUnit& unit, const RankCoordinate& rank) const
{
    const RankCoordinate& of = partOf(unit).place;
    return rank.tp == of.tp && rank.pp == of.pp ? unit.partitionRankOf(rank.dp) : std::nullopt;
}

std::vector<UnitId> Checkpoint::unitsOn(const RankCoordinate& rank) const
{
    std::vector<UnitId> out;
    for (uint32_t i = 0; i < units.size(); ++i) {
        if (units[i].isFlat() && shareOf(units[i], rank))
            out.push_back(UnitId{i});
    }
    return out;
}

const WholeTensor* Checkpoint::wholeOf(ParamId param) const
{
    const auto found = std::lower_bound(whole.begin(), whole.end(), param,
        [](const WholeTensor& tensor, ParamId id) { return tensor.param < id; });
    return found != whole.end() && found->param == param ? &*found : nullptr;
}

std::optional<ParamId> Checkpoint::findParam(std::string_view name) const
{
    auto found = paramByName.find(name);
    if (found == paramByName.end()) // of a run with other wrappers around the same model
        found = paramByName.find(withoutWrappers(name));
    return found == paramByName.end() ? std::nullopt : std::optional(found->second);
}

const FlatUnit* Checkpoint::unitOf(ParamId param) const
{
    if (index(param) >= params.size())
        return nullptr;
    const UnitId unit = params[index(param)].unit;
    return index(unit) < units.size() ? &units[index(unit)] : nullptr;
}

bool Checkpoint::isReadable(FileId id) const
{
    return index(id) < files.size() && files[index(id)].status == FileStatus::Ok;
}

std::optional<TransposedOrder> Checkpoint::transposedOrder(ParamId param) const
{
    if (!zenflow || index(param) >= params.size())
        return std::nullopt;
    const Parameter& matrix = params[index(param)];
    // A single row or column is stored the same in both orders.
    if (matrix.unit == kNoUnit || matrix.shape.size() != 2 || matrix.shape[0] < 2 || matrix.shape[1] < 2)
        return std::nullopt;
    return TransposedOrder{matrix.shape[0], matrix.shape[1]};
}

std::vector<std::string> Checkpoint::stateNames() const
{
    std::vector<std::string> names;
    std::unordered_set<std::string_view> seen;
    const std::string* former = nullptr;
    const auto add = [&](const std::string& name) {
        if (former != nullptr && *former == name)
            return; // of hundreds of thousands of tensors in a row
        former = &name;
        if (name != "weight" && seen.insert(name).second)
            names.push_back(name);
    };
    bool hasWeight = false;
    for (const FlatUnit& unit : units) {
        for (const UnitState& state : unit.states) {
            add(state.name);
            hasWeight = hasWeight || state.name == "weight";
        }
    }
    for (const WholeTensor& tensor : whole) {
        add(tensor.state);
        hasWeight = hasWeight || tensor.state == "weight";
    }
    if (hasWeight)
        names.emplace_back("weight");
    return names;
}

} // namespace shardscope
