// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/reshard_target.h"

#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/muon.h"
#include "core/layout/slices/merged_slices.h"
#include "core/partition/round_robin.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/plan/target/reshard_options.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

namespace {

std::string unitText(const FlatUnit& unit)
{
    return unit.subgroup ? "sub-group " + std::to_string(*unit.subgroup)
                         : "group " + std::to_string(unit.group);
}

bool offloads(const Checkpoint& source)
{
    const ModelStates model = readableModel(source);
    const NodeId device = model.configValue({"zero_optimization", "offload_optimizer", "device"});
    return device != kNoNode && saysOffload(*model.graph, device);
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

FlatUnit targetUnit(const Checkpoint& source, const FlatUnit& from, UnitKind kind,
    std::vector<ParamId> params, CheckpointKind target)
{
    FlatUnit unit;
    unit.kind = kind;
    unit.group = from.group;
    unit.params = std::move(params);
    unit.states = targetStates(source, from, target);
    unit.step = from.step;
    unit.stepForm = from.stepForm;
    unit.stepType = from.stepType;
    unit.stepSet = from.stepSet;
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

/// Under round_robin_gradients the order of a group depends on the number of ranks.
std::vector<ParamId> distributed(const std::vector<ParamId>& params, uint32_t fromRanks, uint32_t toRanks)
{
    std::vector<ParamId> out;
    out.reserve(params.size());
    for (const uint32_t place : roundRobinMoves(static_cast<uint32_t>(params.size()), fromRanks, toRanks))
        out.push_back(params[place]);
    return out;
}

/// The parameters of a param group in the optimizer's order, whatever units the source keeps them in.
Result<std::vector<ParamId>> paramsOf(const Checkpoint& source, const ParamGroup& group)
{
    std::vector<ParamId> params;
    for (const UnitId id : group.units) {
        const FlatUnit& unit = source.units[index(id)];
        SHARDSCOPE_CHECK(checkAlike(source.units[index(group.units.front())], unit));
        params.insert(params.end(), unit.params.begin(), unit.params.end());
    }
    return source.roundRobin ? distributed(params, source.parallel.dp, 1) : params;
}

/// `families`: expert-parallel ranks of one slice. Where they fold over tensor slices, the ranks of all
/// slices are counted, as the user does.
tl::unexpected<Error> undivided(const Checkpoint& source, uint32_t ranks, uint32_t families)
{
    const uint32_t slices = FusedExperts::of(source).slices();
    const auto all = [&](uint32_t number) { return std::to_string(uint64_t{number} * slices); };
    const uint32_t below = ranks / families * families;
    return fail(ErrorCode::Usage,
        all(ranks) + (slices > 1 ? "" : " data-parallel") + " ranks do not divide by " + all(families)
            + " expert-parallel ranks",
        source.tagFolder.string(),
        "choose " + (below > 0 ? all(below) + " or " : std::string()) + all(below + families));
}

/// One unit per expert-parallel rank, each over its share of the new ranks. `families`: their parameters in
/// the optimizer's order.
Status addFamilies(const Checkpoint& source, const FlatUnit& from,
    const std::vector<std::vector<ParamId>>& families, bool consecutive, ReshardTarget& out)
{
    const auto count = static_cast<uint32_t>(families.size());
    if (!partitionsGroups(out.kind))
        return fail(ErrorCode::Unsupported,
            "experts that are distributed over ranks are rewritten only for ZeRO-1 and ZeRO-2",
            source.tagFolder.string());
    if (out.ranks % count != 0)
        return undivided(source, out.ranks, count);
    const uint32_t ranks = out.ranks / count;
    for (uint32_t family = 0; family < count; ++family) {
        std::vector<ParamId> params
            = source.roundRobin ? distributed(families[family], 1, ranks) : families[family];
        const std::vector<uint64_t> elements = elementsOf(source, params);
        FlatUnit unit = targetUnit(source, from, UnitKind::Group, std::move(params), out.kind);
        unit.firstRank = consecutive ? family * ranks : family;
        unit.rankStride = consecutive ? 1 : count;
        SHARDSCOPE_TRY(unit.partition,
            FlatPartition::contiguous(elements, ranks, 2, from.partition.parameterAlignment()));
        out.units.push_back(std::make_shared<const FlatUnit>(std::move(unit)));
    }
    return {};
}

/// Whole units of merged slices represent flat ones that may have been aligned.
uint32_t alignmentOf(const Checkpoint& source, const FlatUnit& unit)
{
    if (source.merged) {
        for (const FlatUnit& from : storedUnder(source).units) {
            if (from.group == unit.group)
                return from.partition.parameterAlignment();
        }
    }
    return unit.partition.parameterAlignment();
}

/// Experts that keep their expert-parallel ranks.
Status addExpertGroup(const Checkpoint& source, const ParamGroup& group, ReshardTarget& out)
{
    std::vector<std::vector<ParamId>> families;
    for (const UnitId id : group.units) {
        const FlatUnit& from = source.units[index(id)];
        families.push_back(
            source.roundRobin ? distributed(from.params, from.partition.ranks(), 1) : from.params);
    }
    const FlatUnit& first = source.units[index(group.units.front())];
    return addFamilies(source, first, families, first.rankStride == 1, out);
}

/// One unit for the whole group: ZeRO-1/2, and universal folders.
Status addGroup(const Checkpoint& source, const ParamGroup& group, ReshardTarget& out)
{
    if (group.units.empty())
        return fail(ErrorCode::Refused,
            "param group " + std::to_string(group.index)
                + " has no trainable parameter, and only ZeRO-3 keeps such a group",
            source.tagFolder.string(), "keep stage 3");
    const FlatUnit& from = source.units[index(group.units.front())];
    if (from.kind == UnitKind::Group && group.units.size() > 1)
        return addExpertGroup(source, group, out);
    SHARDSCOPE_TRY(std::vector<ParamId> params, paramsOf(source, group));
    if (targetRoundRobin(source, out.kind))
        params = distributed(params, 1, out.ranks);
    const std::vector<uint64_t> elements = elementsOf(source, params);
    const bool unpartitioned = isUniversal(out.kind) || isStage0(out.kind);
    const bool whole = unpartitioned && !hasFlatMasters(out.kind);
    FlatUnit unit
        = targetUnit(source, from, whole ? UnitKind::Whole : UnitKind::Group, std::move(params), out.kind);
    SHARDSCOPE_TRY(unit.partition,
        unpartitioned ? FlatPartition::contiguous(elements, 1, 1)
                      : FlatPartition::contiguous(elements, out.ranks, 2, alignmentOf(source, from)));
    out.units.push_back(std::make_shared<const FlatUnit>(std::move(unit)));
    return {};
}

/// The parameters of a ZeRO-3 param group, those of experts by expert-parallel rank.
Result<std::vector<std::vector<ParamId>>> subGroupFamilies(const Checkpoint& source, const ParamGroup& group)
{
    std::vector<std::vector<ParamId>> out;
    std::vector<uint32_t> firstRanks;
    const FlatUnit& front = source.units[index(group.units.front())];
    for (const UnitId id : group.units) {
        const FlatUnit& unit = source.units[index(id)];
        SHARDSCOPE_CHECK(checkAlike(front, unit));
        if (unit.partition.ranks() != front.partition.ranks())
            return fail(ErrorCode::Unsupported,
                "param group " + std::to_string(group.index) + " has experts together with other parameters",
                source.tagFolder.string());
        const auto known = std::find(firstRanks.begin(), firstRanks.end(), unit.firstRank);
        const auto family = static_cast<size_t>(known - firstRanks.begin());
        if (known == firstRanks.end()) {
            firstRanks.push_back(unit.firstRank);
            out.emplace_back();
        }
        out[family].insert(out[family].end(), unit.params.begin(), unit.params.end());
    }
    if (out.size() == 1) {
        SHARDSCOPE_TRY(out.front(), paramsOf(source, group));
    }
    return out;
}

Status addSubGroups(
    const Checkpoint& source, const ParamGroup& group, uint64_t subGroupSize, ReshardTarget& out)
{
    uint32_t next = 0; // numbers go on over the groups, on every rank
    for (const auto& before : out.subGroupsOfGroup)
        next += static_cast<uint32_t>(before.size());
    out.subGroupsOfGroup.emplace_back();
    if (group.units.empty())
        return {};
    const FlatUnit& from = source.units[index(group.units.front())];
    SHARDSCOPE_TRY(const auto families, subGroupFamilies(source, group));
    const auto count = static_cast<uint32_t>(families.size());
    if (out.ranks % count != 0)
        return undivided(source, out.ranks, count);
    const uint32_t ranks = out.ranks / count;
    for (uint32_t family = 0; family < count; ++family) {
        const std::vector<ParamId>& params = families[family];
        const std::vector<uint64_t> elements = elementsOf(source, params);
        uint32_t number = next;
        for (const SubGroupRange& range : splitIntoSubGroups(elements, ranks, subGroupSize)) {
            FlatUnit unit = targetUnit(source, from, UnitKind::SubGroup,
                {params.begin() + range.begin, params.begin() + range.end}, out.kind);
            SHARDSCOPE_TRY(unit.partition,
                FlatPartition::sliced({elements.begin() + range.begin, elements.begin() + range.end}, ranks));
            unit.firstRank = count > 1 && from.rankStride == 1 ? family * ranks : family;
            unit.rankStride = from.rankStride == 1 ? 1 : count;
            unit.subgroup = number++;
            if (family == 0)
                out.subGroupsOfGroup.back().push_back(*unit.subgroup);
            out.units.push_back(std::make_shared<const FlatUnit>(std::move(unit)));
        }
    }
    return {};
}

Status addFrozen(const Checkpoint& source, ParamId param, DType dtype, ReshardTarget& out)
{
    FlatUnit unit;
    unit.kind = UnitKind::Frozen;
    unit.params = {param};
    unit.states.emplace_back();
    unit.states.back().name = "weight";
    unit.states.back().dtype = dtype;
    SHARDSCOPE_TRY(unit.partition, FlatPartition::sliced(elementsOf(source, unit.params), out.ranks));
    out.units.push_back(std::make_shared<const FlatUnit>(std::move(unit)));
    return {};
}

} // namespace

bool isHeldWhole(const Checkpoint& source, const UnitState& momentum, CheckpointKind target)
{
    const bool keepsForm = isZero12(source.kind) && !source.merged; // whose units are those of no file
    return isZero12(target) && (keepsForm ? momentum.heldWhole : !offloads(source));
}

std::vector<UnitState> targetStates(const Checkpoint& source, const FlatUnit& unit, CheckpointKind target)
{
    const UnitState* momentum = muonMomentumOf(source, unit);
    std::vector<UnitState> out;
    for (const UnitState& state : unit.states) {
        UnitState& made = out.emplace_back();
        made.name = state.name;
        made.dtype = state.dtype;
        made.heldWhole = &state == momentum && isHeldWhole(source, state, target);
        made.lean = made.heldWhole || (isZero12(target) && out.size() == 1); // masters are the first
    }
    return out;
}

std::vector<uint32_t> ReshardTarget::unitsOn(uint32_t dpRank) const
{
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < units.size(); ++i) {
        if (units[i]->isFlat() && units[i]->partitionRankOf(dpRank))
            out.push_back(i);
    }
    return out;
}

Result<ReshardTarget> layOutExperts(
    const Checkpoint& source, CheckpointKind kind, uint32_t ranks, uint32_t expertRanks)
{
    ReshardTarget out;
    out.kind = kind;
    out.ranks = ranks;
    out.expertRanks = expertRanks;
    const bool consecutive = familiesAreConsecutive(source);
    SHARDSCOPE_TRY(const std::vector<TargetGroup> groups, groupsForExpertDegree(source, expertRanks));
    const ModelStates model = modelStates(source);
    if (groups.size() != source.groups.size() && model.scheduler != kNoNode
        && model.graph->kind(model.scheduler) != NodeKind::None)
        return fail(ErrorCode::Unsupported,
            "experts at another degree make " + std::to_string(groups.size()) + " param groups of "
                + std::to_string(source.groups.size()) + ", and the state of the scheduler is kept per group",
            source.tagFolder.string(), Hint::omit("--ep"));
    for (const TargetGroup& group : groups) {
        const ParamGroup& from = source.groups[group.source];
        for (size_t i = 1; i < from.units.size(); ++i)
            SHARDSCOPE_CHECK(
                checkAlike(source.units[index(from.units.front())], source.units[index(from.units[i])]));
        const size_t first = out.units.size();
        if (group.families.empty())
            SHARDSCOPE_CHECK(addGroup(source, from, out));
        else
            SHARDSCOPE_CHECK(addFamilies(
                source, source.units[index(from.units.front())], group.families, consecutive, out));
        for (size_t i = first; i < out.units.size(); ++i) { // groups before it may have become more or fewer
            FlatUnit unit = *out.units[i];
            unit.group = static_cast<int32_t>(out.sourceGroups.size());
            out.units[i] = std::make_shared<const FlatUnit>(std::move(unit));
        }
        out.sourceGroups.push_back(group.source);
    }
    return out;
}

Result<ReshardTarget> layOutTarget(
    const Checkpoint& source, CheckpointKind kind, uint32_t ranks, uint64_t subGroupSize)
{
    ReshardTarget out;
    out.kind = kind;
    out.ranks = ranks;
    for (const ParamGroup& group : source.groups) {
        if (partitionsParameters(kind))
            SHARDSCOPE_CHECK(addSubGroups(source, group, subGroupSize, out));
        else
            SHARDSCOPE_CHECK(addGroup(source, group, out));
    }
    for (uint32_t i = 0; partitionsParameters(kind) && i < source.params.size(); ++i) {
        const Parameter& param = source.params[i];
        if (param.role != ParamRole::Frozen || param.sharedWith != kNoParam || param.elements == 0)
            continue;
        if (const auto dtype = valueType(source, ParamId{i}))
            SHARDSCOPE_CHECK(addFrozen(source, ParamId{i}, *dtype, out));
    }
    return out;
}

} // namespace shardscope
