// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/param_order.h"
#include "core/checkpoint/units/weight_samples.h"
#include "core/checkpoint/universal/universal_order.h"
#include "core/layout/fragments.h"
#include "core/plan/repair/amended.h"
#include "core/plan/target/expert_degree.h"

#include <algorithm>
#include <functional>

namespace shardscope {

namespace {

/// The number of elements of a parameter that are compared with its copy, at its beginning and at its end.
constexpr uint64_t kProofElements = 4096;

/// The runs that hold a parameter's elements of a state, by its position in its unit. Empty if they are not
/// available.
using Finder
    = std::function<std::vector<StoredRun>(uint32_t unit, const UnitState& state, uint32_t position)>;

StoredRun partOf(const StoredRun& run, uint64_t first, uint64_t elements, DType dtype)
{
    if (!run.isPresent() || first + elements > run.elements)
        return {};
    return {run.file, run.record, run.byteOffset + first * itemSize(dtype), elements};
}

/// A state of one parameter, from runs in several files.
UnitState stateIn(const UnitState& from, uint64_t elements, std::vector<StoredRun> runs)
{
    UnitState out;
    out.name = from.name;
    out.dtype = from.dtype;
    out.heldWhole = from.heldWhole;
    std::vector<Box> boxes;
    uint64_t at = 0;
    for (const StoredRun& run : runs) {
        boxes.push_back({{at}, {run.elements}});
        at += run.elements;
    }
    const bool all = at == elements && elements > 0;
    out.perRank = {all ? StoredRun{runs.front().file, StoredRun::kNoRecord, 0, elements} : StoredRun{}};
    if (all)
        out.elements = std::make_shared<const BoxMap>(Shape{elements}, std::move(boxes), std::move(runs));
    return out;
}

/// The same files, with every trained parameter at the place that `find` returns.
Result<CheckpointPtr> withOrder(const Checkpoint& source, const Finder& find)
{
    auto out = std::make_shared<Checkpoint>(source);
    out->units.clear();
    for (ParamGroup& group : out->groups)
        group.units.clear();
    for (uint32_t u = 0; u < source.units.size(); ++u) {
        const FlatUnit& from = source.units[u];
        for (uint32_t position = 0; position < from.params.size(); ++position) {
            const ParamId id = from.params[position];
            Parameter& param = out->params[index(id)];
            FlatUnit unit;
            unit.kind = UnitKind::Whole;
            unit.group = from.group;
            unit.params = {id};
            unit.step = from.step;
            unit.stepForm = from.stepForm;
            unit.stepType = from.stepType;
            SHARDSCOPE_TRY(unit.partition, FlatPartition::contiguous({param.elements}, 1, 1));
            for (const UnitState& state : from.states)
                unit.states.push_back(stateIn(state, param.elements, find(u, state, position)));
            param.unit = UnitId{static_cast<uint32_t>(out->units.size())};
            param.indexInUnit = 0;
            if (unit.group >= 0)
                out->groups[static_cast<size_t>(unit.group)].units.push_back(param.unit);
            out->units.push_back(std::move(unit));
        }
    }
    return CheckpointPtr(std::move(out));
}

Finder inShards(const Checkpoint& source, const ParamOrder& order)
{
    return [&source, &order](uint32_t u, const UnitState& state, uint32_t position) {
        const FlatPartition& partition = order.partitions[u];
        const uint64_t elements = source.params[index(source.units[u].params[position])].elements;
        std::vector<StoredRun> out;
        partition.forEachFragment(order.places[u][position], 0, elements, [&](const FlatPiece& piece) {
            if (piece.rank >= state.perRank.size())
                return false;
            const StoredRun run
                = partOf(state.perRank[piece.rank], piece.flatOffset, piece.elements, state.dtype);
            if (!run.isPresent())
                return false;
            out.push_back(run);
            return true;
        });
        return out;
    };
}

Finder inOtherFiles(const std::vector<OverlookedOrder>& orders)
{
    return [&orders](uint32_t u, const UnitState& state, uint32_t position) {
        std::vector<StoredRun> out;
        for (const MovedRun& moved : orders[u].runsOf(position)) {
            const StoredRun* tensor = state.tensorOf(moved.position);
            const StoredRun run
                = tensor == nullptr ? StoredRun() : partOf(*tensor, moved.first, moved.elements, state.dtype);
            if (!run.isPresent())
                return std::vector<StoredRun>();
            out.push_back(run);
        }
        return out;
    };
}

/// Whether the existing copies prove that every parameter is at its place in `other`.
Result<bool> provenBy(const Amended& amended, const Checkpoint& other)
{
    size_t proven = 0;
    for (const FlatUnit& unit : other.units) {
        if (unit.states.empty() || unit.group < 0)
            continue;
        SHARDSCOPE_CHECK(amended.job.poll());
        const ParamId param = unit.params.front();
        const uint64_t elements = other.params[index(param)].elements;
        if (elements == 0)
            continue;
        if (!unit.states.front().perRank.front().isPresent())
            return false;
        const uint64_t window = std::min(elements, kProofElements);
        WeightTally tally;
        for (const uint64_t begin : {uint64_t{0}, elements - window})
            SHARDSCOPE_CHECK(compareWithCopy(amended, other, param, begin, begin + window, tally));
        if (tally.different > 0)
            return false;
        proven += tally.compared > 0 ? 1 : 0;
    }
    return proven > 0;
}

/// Reads every state of a parameter from its actual place.
void takeFrom(Amended& amended, const CheckpointPtr& other)
{
    const Checkpoint& source = *amended.source;
    for (uint32_t u = 0; u < source.units.size(); ++u) {
        const FlatUnit& unit = source.units[u];
        for (uint32_t s = 0; unit.group >= 0 && s < unit.states.size(); ++s) {
            Amended::Moved& moved = amended.moved[unit.states[s].name];
            moved.from = other;
            for (const ParamId param : unit.params) {
                if (source.params[index(param)].elements > 0)
                    moved.params.push_back(param);
            }
        }
    }
}

/// Keeps all values at their places, and changes the list in the model file.
void rewriteParamList(Amended& amended, const ParamOrder& order)
{
    Checkpoint& out = *amended.checkpoint;
    for (uint32_t u = 0; u < out.units.size(); ++u) {
        FlatUnit& unit = out.units[u];
        const std::vector<ParamId> listed = unit.params;
        for (size_t i = 0; i < listed.size(); ++i) {
            const uint32_t place = order.places[u][i];
            unit.params[place] = listed[i];
            out.params[index(listed[i])].indexInUnit = place;
        }
        unit.partition = order.partitions[u];
    }
    amended.model.rebuilt = true;
}

} // namespace

Status putInOrder(Amended& amended, const std::vector<const Finding*>& findings)
{
    const Checkpoint& source = *amended.source;
    const Finding& first = *findings.front();
    if (amended.isSplit() || hasExperts(source) || source.zenflow)
        return cannotRepair(
            amended, first, "the order of tensor slices, stages, experts and ZenFlow's columns is kept");
    SHARDSCOPE_TRY(const CheckpointPtr listed, withOrder(source, inShards(source, listedOrder(source))));
    SHARDSCOPE_TRY(const bool asListed, provenBy(amended, *listed));
    if (asListed)
        return cannotRepair(amended, first,
            "the parameters are where `param_shapes` says; it is the configuration that records another "
            "order");
    // Data in the order before round_robin_gradients may be listed in the order after it, or the reverse.
    for (const bool roundRobin : {false, true}) {
        const auto order = roundRobin ? orderAfterRoundRobin(source) : orderBeforeRoundRobin(source);
        if (!order)
            continue;
        SHARDSCOPE_TRY(const CheckpointPtr other, withOrder(source, inShards(source, *order)));
        SHARDSCOPE_TRY(const bool proven, provenBy(amended, *other));
        if (!proven)
            continue;
        const bool stay = roundRobin == source.roundRobin;
        amended.rewriteAll = true; // the files of all ranks record places
        for (const Finding* finding : findings)
            amended.repair(*finding,
                stay ? "`param_shapes` lists the parameters in the order that their copies prove"
                     : "the parameters are put in the order that `param_shapes` records; their copies prove "
                       "where they were");
        if (stay)
            rewriteParamList(amended, *order);
        else
            takeFrom(amended, other);
        return {};
    }
    return cannotRepair(
        amended, first, "none of DeepSpeed's orders gives every parameter the values of its copy");
}

Status putInOwnFiles(Amended& amended, const std::vector<const Finding*>& findings)
{
    const Checkpoint& source = *amended.source;
    const auto ranks = convertedRanks(source);
    if (!ranks || amended.isSplit())
        return cannotRepair(
            amended, *findings.front(), "the model file does not record the ranks of the source");
    std::vector<OverlookedOrder> orders;
    for (const FlatUnit& unit : source.units)
        orders.emplace_back(unit, *ranks);
    SHARDSCOPE_TRY(const CheckpointPtr other, withOrder(source, inOtherFiles(orders)));
    SHARDSCOPE_TRY(const bool proven, provenBy(amended, *other));
    if (!proven)
        return cannotRepair(amended, *findings.front(),
            "at their expected places, not all parameters have the values of their copies");
    for (const Finding* finding : findings)
        amended.repair(*finding,
            "every parameter gets its own elements of all states; the 16-bit copies prove where they were");
    takeFrom(amended, other);
    return {};
}

} // namespace shardscope
