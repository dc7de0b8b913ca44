// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace shardscope {

/// Distributes candidates, in their order, over groups. Each group is filled from its beginning. Candidates
/// may be left out. For checkpoints that do not name the parameters of an optimizer's groups.
struct GroupSearch {
    std::vector<uint64_t> weights; ///< per candidate: how far it fills a group; at least 1
    std::vector<uint64_t> sizes; ///< per group: must be filled exactly
    /// Whether a candidate may be at a position of a group. Called only if the candidate fits before the
    /// group's end; several times, in any order.
    std::function<bool(uint32_t candidate, uint32_t group, uint64_t position)> fits;
};

struct GroupSplit {
    enum class Outcome {
        None, ///< no way to distribute them
        One,
        Several, ///< `groupOf` is one of them
        TooMany ///< given up: too many ways were open at once
    };
    Outcome outcome = Outcome::None;
    std::vector<int32_t> groupOf; ///< per candidate; -1: left out
};

/// Time and memory grow with candidates × groups × the number of open ways. That number is limited.
GroupSplit splitIntoGroups(const GroupSearch& search);

} // namespace shardscope
