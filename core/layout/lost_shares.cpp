// SPDX-License-Identifier: Apache-2.0
#include "core/layout/lost_shares.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace shardscope {

namespace {

/// Elements of the parameter at a position of the unit that a share has.
uint64_t elementsOn(const FlatPartition& partition, uint32_t param, uint32_t share)
{
    const uint64_t elements = partition.paramElements(param);
    if (const uint64_t slice = partition.sliceElements(param); slice > 0) {
        const uint64_t before = slice * share;
        return before >= elements ? 0 : std::min(slice, elements - before);
    }
    const uint64_t begin = std::max(partition.paramStart(param), partition.partitionElements() * share);
    const uint64_t end = std::min(
        partition.paramStart(param) + elements, partition.partitionElements() * (uint64_t{share} + 1));
    return begin < end ? end - begin : 0;
}

/// Without a list of ranks nothing is known of the state.
std::vector<uint32_t> lostOf(const FlatUnit& unit, const UnitState& state)
{
    std::vector<uint32_t> out;
    for (uint32_t share = 0; !state.perRank.empty() && share < unit.partition.ranks(); ++share) {
        const bool isPresent = share < state.perRank.size() && state.perRank[share].isPresent();
        if (!isPresent && unit.partition.payloadOn(share) > 0)
            out.push_back(share);
    }
    return out;
}

} // namespace

LostShares::LostShares(const Checkpoint& checkpoint)
    : m_checkpoint(checkpoint)
{
    for (size_t i = 0; i < checkpoint.units.size(); ++i)
        look(i);
}

LostShares::LostShares(const Checkpoint& checkpoint, UnitId only)
    : m_checkpoint(checkpoint)
{
    if (index(only) < checkpoint.units.size())
        look(index(only));
}

void LostShares::look(size_t unit)
{
    const FlatUnit& of = m_checkpoint.units[unit];
    if (!m_checkpoint.fullyRead || of.kind == UnitKind::Whole)
        return;
    OfUnit lost;
    std::set<uint32_t> shares;
    for (const UnitState& state : of.states) {
        lost.byState.push_back(lostOf(of, state));
        shares.insert(lost.byState.back().begin(), lost.byState.back().end());
    }
    if (shares.empty())
        return;
    lost.shares.assign(shares.begin(), shares.end());
    m_units.resize(m_checkpoint.units.size());
    m_units[unit] = std::move(lost);
}

const std::vector<uint32_t>& LostShares::of(UnitId unit) const
{
    static const std::vector<uint32_t> kNone;
    return index(unit) < m_units.size() ? m_units[index(unit)].shares : kNone;
}

std::vector<uint32_t> LostShares::of(ParamId param) const
{
    std::vector<uint32_t> out;
    if (const FlatUnit* unit = m_checkpoint.unitOf(param)) {
        const Parameter& held = m_checkpoint.params[index(param)];
        std::ranges::copy_if(of(held.unit), std::back_inserter(out),
            [&](uint32_t share) { return elementsOn(unit->partition, held.indexInUnit, share) > 0; });
    }
    return out;
}

uint64_t LostShares::bytesOf(UnitId unit, size_t state) const
{
    if (of(unit).empty())
        return 0;
    const FlatUnit& held = m_checkpoint.units[index(unit)];
    uint64_t elements = 0;
    for (const uint32_t share : m_units[index(unit)].byState[state])
        elements += held.partition.payloadOn(share);
    return elements * itemSize(held.states[state].dtype);
}

uint64_t LostShares::bytesOf(ParamId param) const
{
    const Parameter& of = m_checkpoint.params[index(param)];
    if (of.unit == kNoUnit || this->of(of.unit).empty())
        return 0;
    const FlatUnit& unit = m_checkpoint.units[index(of.unit)];
    uint64_t bytes = 0;
    for (size_t state = 0; state < unit.states.size(); ++state) {
        for (const uint32_t share : m_units[index(of.unit)].byState[state])
            bytes += elementsOn(unit.partition, of.indexInUnit, share) * itemSize(unit.states[state].dtype);
    }
    return bytes;
}

} // namespace shardscope
