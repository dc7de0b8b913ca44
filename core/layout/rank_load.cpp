// SPDX-License-Identifier: Apache-2.0
#include "core/layout/rank_load.h"

#include "core/layout/counts.h"
#include "core/layout/whole_units.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardscope {

uint64_t bytesOnRank(const FlatUnit& unit, uint32_t share)
{
    uint64_t bytes = 0;
    for (const UnitState& state : unit.states) {
        if (share >= state.perRank.size() || !state.perRank[share].isPresent())
            continue;
        // With a map, the entry has only the file of all that the rank stores.
        const uint64_t elements
            = state.elements ? unit.partition.payloadOn(share) : state.perRank[share].elements;
        bytes += elements * itemSize(state.dtype);
    }
    return bytes;
}

uint64_t bytesOnRank(const Checkpoint& checkpoint, uint32_t part, uint32_t dpRank)
{
    uint64_t bytes = 0;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.part != part || unit.rankStride == 0 || dpRank < unit.firstRank || isStoredWhole(unit))
            continue;
        const uint32_t share = (dpRank - unit.firstRank) / unit.rankStride;
        if (share < unit.partition.ranks() && unit.dpRankOf(share) == dpRank)
            bytes += bytesOnRank(unit, share);
    }
    return bytes;
}

RankLoad rankLoad(const Checkpoint& checkpoint)
{
    struct Held {
        uint64_t bytes = 0;
        uint64_t padding = 0;
    };
    std::map<std::pair<uint32_t, uint32_t>, Held> held; // by part and data-parallel rank
    RankLoad load;
    for (const FlatUnit& unit : checkpoint.units) {
        load.elements += unit.partition.payloadElements();
        for (uint32_t share = 0; share < unit.partition.ranks(); ++share) {
            Held& rank = held[{unit.part, unit.dpRankOf(share)}];
            const uint64_t padding = paddingElements(unit, share);
            rank.padding += padding;
            load.padding += padding;
            rank.bytes += bytesOnRank(unit, share);
        }
    }
    for (const auto& [coordinate, rank] : held) {
        load.leastBytes
            = coordinate == held.begin()->first ? rank.bytes : std::min(load.leastBytes, rank.bytes);
        load.mostBytes = std::max(load.mostBytes, rank.bytes);
        load.mostPadding = std::max(load.mostPadding, rank.padding);
    }
    return load;
}

} // namespace shardscope
