// SPDX-License-Identifier: Apache-2.0
#include "core/layout/fragments.h"

#include "core/layout/counts.h"
#include "core/layout/slices/merged_slices.h"
#include "core/layout/strided_runs.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

constexpr size_t kMaxFragments = 1'000'000;

/// The owner of the storage of an alias; any other parameter itself. Follows one link: an owner is never an
/// alias.
ParamId ownerOf(const Checkpoint& checkpoint, ParamId param)
{
    const ParamId owner = checkpoint.params[index(param)].sharedWith;
    return index(owner) < checkpoint.params.size() ? owner : param;
}

const WholeTensor* wholeOfOwnerOrAlias(const Checkpoint& checkpoint, ParamId owner, ParamId asked)
{
    const WholeTensor* whole = checkpoint.wholeOf(owner);
    return whole != nullptr || owner == asked ? whole : checkpoint.wholeOf(asked);
}

/// Visits `fragment`, in two parts if the file contains only its first `stored` elements.
bool visitStored(Fragment fragment, const StoredRun& run, uint64_t stored,
    const std::function<bool(const Fragment&)>& visit)
{
    const uint64_t itemBytes = itemSize(fragment.dtype);
    fragment.record = run.record;
    const uint64_t present = run.isPresent() ? std::min(stored, fragment.elements) : 0;
    Fragment absent = fragment;
    if (present > 0) {
        fragment.elements = present;
        fragment.file = run.file;
        fragment.bytes = present * itemBytes;
        if (!visit(fragment))
            return false;
    }
    if (present == absent.elements)
        return true;
    absent.paramOffset += present;
    absent.flatOffset += present;
    absent.elements -= present;
    absent.byteOffset = 0;
    absent.bytes = absent.elements * itemBytes;
    return visit(absent);
}

bool visitPiece(const Checkpoint& checkpoint, UnitId unitId, const UnitState& state, const FlatPiece& piece,
    const std::function<bool(const Fragment&)>& visit)
{
    const FlatUnit& unit = checkpoint.units[index(unitId)];
    Fragment fragment;
    fragment.param = unit.params[piece.param];
    fragment.columnMajor = checkpoint.transposedOrder(fragment.param).has_value();
    fragment.unit = unitId;
    fragment.rank = checkpoint.rankOf(unit, piece.rank);
    fragment.dtype = state.dtype;
    const uint64_t itemBytes = itemSize(state.dtype);
    const auto visitStoredPiece = [&](const StoredPiece& stored) {
        fragment.paramOffset = stored.paramOffset;
        fragment.flatOffset = piece.flatOffset + (stored.paramOffset - piece.paramOffset);
        fragment.elements = stored.elements;
        fragment.byteOffset = stored.run.byteOffset + stored.runOffset * itemBytes;
        return visitStored(fragment, stored.run, stored.stored(), visit);
    };
    return state.visitPiece(piece, std::cref(visitStoredPiece)); // by reference: no allocation
}

/// Stored elements of a flat unit.
void forEachFlatFragment(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin,
    uint64_t end, const std::function<bool(const Fragment&)>& visit)
{
    const FlatUnit& unit = checkpoint.units[index(source.unit)];
    unit.partition.forEachFragment(
        checkpoint.params[index(source.param)].indexInUnit, begin, end, [&](const FlatPiece& piece) {
            return visitPiece(checkpoint, source.unit, unit.states[source.stateIndex], piece, visit);
        });
}

/// The distance in storage between neighbours in a row is the number of rows.
void forEachTransposedElement(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin,
    uint64_t end, const std::function<bool(const Fragment&)>& visit)
{
    const TransposedOrder order = *checkpoint.transposedOrder(source.param);
    bool goOn = true;
    for (uint64_t element = begin; element < end && goOn; ++element) {
        const uint64_t stored = order.storedOf(element);
        forEachFlatFragment(checkpoint, source, stored, stored + 1, [&](const Fragment& fragment) {
            Fragment logical = fragment;
            logical.paramOffset = element;
            logical.columnMajor = false;
            return goOn = visit(logical);
        });
    }
}

void forEachWholeFragment(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin,
    uint64_t end, const std::function<bool(const Fragment&)>& visit)
{
    const WholeTensor& whole = *source.whole;
    Fragment fragment;
    fragment.param = source.param;
    fragment.dtype = whole.dtype;
    if (whole.run.isPresent())
        fragment.rank = checkpoint.file(whole.run.file).rank.value_or(RankCoordinate{});
    const uint64_t itemBytes = itemSize(whole.dtype);

    if (whole.contiguous || !whole.run.isPresent()) {
        fragment.paramOffset = begin;
        fragment.flatOffset = begin;
        fragment.elements = end - begin;
        fragment.byteOffset = whole.run.byteOffset + begin * itemBytes;
        visitStored(fragment, whole.run, whole.run.elements > begin ? whole.run.elements - begin : 0, visit);
        return;
    }
    forEachStridedRun(
        checkpoint.params[index(whole.param)].shape, whole.strides, begin, end, [&](const StridedRun& run) {
            fragment.paramOffset = run.element;
            fragment.flatOffset = run.element;
            fragment.elements = run.elements;
            fragment.byteOffset = whole.run.byteOffset + run.storageOffset * itemBytes;
            return visitStored(fragment, whole.run, run.elements, visit);
        });
}

/// The fragments of a parameter's slices, numbered by its own elements.
void forEachMergedFragment(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin,
    uint64_t end, const std::function<bool(const Fragment&)>& visit)
{
    const Checkpoint& of = *checkpoint.merged->of;
    const std::string& state = checkpoint.units[index(source.unit)].states[source.stateIndex].name;
    bool goOn = true;
    forEachSliceRun(checkpoint.merged->pieces[index(source.param)], begin, end, [&](const SliceRun& run) {
        const auto slice = findState(of, run.slice, state);
        if (!slice)
            return false; // it has the states of the first slice
        forEachFragmentOf(
            of, *slice, run.sliceElement, run.sliceElement + run.elements, [&](const Fragment& fragment) {
                Fragment merged = fragment;
                merged.param = source.param;
                merged.paramOffset = run.element + (fragment.paramOffset - run.sliceElement);
                merged.unit = source.unit;
                return goOn = visit(merged);
            });
        return goOn;
    });
}

using FragmentVisit = std::function<bool(const Fragment&)>;

/// What `walk` visits, as a list.
Result<std::vector<Fragment>> listOf(const Checkpoint& checkpoint, const StateSource& source,
    std::string_view state, const std::function<void(const FragmentVisit&)>& walk)
{
    std::vector<Fragment> fragments;
    bool tooMany = false;
    walk([&](const Fragment& fragment) {
        tooMany = fragments.size() == kMaxFragments;
        if (!tooMany) {
            fragments.push_back(fragment);
            fragments.back().state = state;
        }
        return !tooMany;
    });
    if (tooMany)
        return fail(ErrorCode::LimitExceeded,
            fmt::format("\"{}\" is stored in more than {} separate pieces",
                checkpoint.params[index(source.param)].name, kMaxFragments),
            {}, "request a smaller range of elements");
    return fragments;
}

} // namespace

Result<StateSource> findState(const Checkpoint& checkpoint, ParamId param, std::string_view state)
{
    if (index(param) >= checkpoint.params.size())
        return fail(ErrorCode::NotFound, "the checkpoint has no such parameter");
    StateSource source;
    source.param = ownerOf(checkpoint, param);
    const Parameter& owner = checkpoint.params[index(source.param)];
    source.elements = owner.elements;
    if (const FlatUnit* unit = checkpoint.unitOf(source.param)) {
        for (uint32_t i = 0; i < unit->states.size(); ++i) {
            if (unit->states[i].name == state) {
                source.unit = owner.unit;
                source.stateIndex = i;
                source.dtype = unit->states[i].dtype;
                return source;
            }
        }
    }
    const WholeTensor* whole = wholeOfOwnerOrAlias(checkpoint, source.param, param);
    if (whole != nullptr && whole->state == state) {
        source.whole = whole;
        source.dtype = whole->dtype;
        return source;
    }
    const auto states = statesOf(checkpoint, param);
    return fail(ErrorCode::NotFound,
        fmt::format("parameter \"{}\" has no state \"{}\"", checkpoint.params[index(param)].name, state), {},
        states.empty() ? std::string("no readable file contains it")
                       : fmt::format("it has {}", fmt::join(states, ", ")));
}

void forEachFragmentOf(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin, uint64_t end,
    const std::function<bool(const Fragment&)>& visit)
{
    end = std::min(end, source.elements);
    if (begin >= end)
        return;
    if (source.whole != nullptr) {
        forEachWholeFragment(checkpoint, source, begin, end, visit);
        return;
    }
    if (checkpoint.merged // a split slice can be padding only, without a piece
        && (checkpoint.merged->split || !checkpoint.merged->pieces[index(source.param)].empty())) {
        forEachMergedFragment(checkpoint, source, begin, end, visit);
        return;
    }
    if (checkpoint.transposedOrder(source.param))
        return forEachTransposedElement(checkpoint, source, begin, end, visit);
    forEachFlatFragment(checkpoint, source, begin, end, visit);
}

void forEachStoredFragmentOf(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin,
    uint64_t end, const std::function<bool(const Fragment&)>& visit)
{
    if (source.whole != nullptr || !checkpoint.transposedOrder(source.param))
        return forEachFragmentOf(checkpoint, source, begin, end, visit);
    end = std::min(end, source.elements);
    if (begin < end)
        forEachFlatFragment(checkpoint, source, begin, end, visit);
}

Result<std::vector<Fragment>> fragmentsOf(
    const Checkpoint& checkpoint, ParamId param, std::string_view state, uint64_t begin, uint64_t end)
{
    SHARDSCOPE_TRY(const StateSource source, findState(checkpoint, param, state));
    if (begin > end || end > source.elements)
        return fail(ErrorCode::Usage,
            fmt::format("elements {} to {} are not inside \"{}\", which has {}", begin, end,
                checkpoint.params[index(param)].name, source.elements));
    return listOf(checkpoint, source, state,
        [&](const auto& visit) { forEachFragmentOf(checkpoint, source, begin, end, visit); });
}

Result<std::vector<Fragment>> storedFragmentsOf(
    const Checkpoint& checkpoint, ParamId param, std::string_view state)
{
    SHARDSCOPE_TRY(const StateSource source, findState(checkpoint, param, state));
    return listOf(checkpoint, source, state,
        [&](const auto& visit) { forEachStoredFragmentOf(checkpoint, source, 0, source.elements, visit); });
}

void forEachFragmentOnRank(const Checkpoint& checkpoint, UnitId unit, uint32_t stateIndex, uint32_t share,
    const std::function<bool(const Fragment&)>& visit)
{
    const FlatUnit& flat = checkpoint.units[index(unit)];
    const UnitState& state = flat.states[stateIndex];
    flat.partition.forEachPiece(share, 0, flat.partition.partitionElements(), [&](const FlatPiece& piece) {
        return piece.isPadding() || visitPiece(checkpoint, unit, state, piece, [&](const Fragment& found) {
            Fragment named = found;
            named.state = state.name;
            return visit(named);
        });
    });
}

std::string_view paddingKindName(PaddingKind kind)
{
    switch (kind) {
    case PaddingKind::None:
        return "none";
    case PaddingKind::Stored:
        return "stored";
    case PaddingKind::Implied:
        return "implied";
    }
    return "none";
}

PaddingInfo paddingOf(const FlatUnit& unit, const UnitState& state, uint32_t share)
{
    const uint64_t padding = paddingElements(unit, share);
    if (padding == 0)
        return {};
    bool stored = !state.lean || unit.partition.leanElementsOn(share) > unit.partition.payloadOn(share);
    if (share < state.perRank.size() && state.perRank[share].isPresent())
        stored = state.perRank[share].elements > unit.partition.payloadOn(share);
    return {padding, stored ? PaddingKind::Stored : PaddingKind::Implied};
}

std::vector<std::string> statesOf(const Checkpoint& checkpoint, ParamId param)
{
    std::vector<std::string> states;
    if (index(param) >= checkpoint.params.size())
        return states;
    const ParamId owner = ownerOf(checkpoint, param);
    if (const FlatUnit* unit = checkpoint.unitOf(owner)) {
        for (const UnitState& state : unit->states)
            states.push_back(state.name);
    }
    const WholeTensor* whole = wholeOfOwnerOrAlias(checkpoint, owner, param);
    if (whole != nullptr && std::find(states.begin(), states.end(), whole->state) == states.end())
        states.push_back(whole->state);
    return states;
}

} // namespace shardscope
