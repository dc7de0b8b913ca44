// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/map_query.h"

#include <random>
#include <vector>

namespace shardscope::oracle {

using Random = std::mt19937_64;
uint64_t pick(Random& random, uint64_t low, uint64_t high);

/// One slot of a rank's flat buffer, as a map should show it.
struct Slot {
    CellKind kind = CellKind::PaddingStored;
    ParamId param = kNoParam;
    uint64_t element = 0;
    bool shared = false;
    bool stored = false;
    int8_t severity = -1;
};

struct Grid {
    std::vector<std::vector<Slot>> rows; ///< per rank
    uint64_t itemBytes = 4;
};

/// A small random checkpoint with one unit and state listed slot by slot: missing, unread and short shards,
/// findings of all kinds.
struct Trial {
    Checkpoint checkpoint;
    UnitId unit{0};
    uint32_t state = 0;
    Grid grid;
};

Trial randomTrial(Random& random);

} // namespace shardscope::oracle
