// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <vector>

namespace shardscope {

/// Elements of a parameter that are in the files of another parameter of its group.
struct MovedRun {
    uint32_t position = 0; ///< position in FlatUnit::params of the parameter with these files
    uint64_t first = 0; ///< element there
    uint64_t elements = 0;
};

/// Where the parameters of a universal folder's group are stored if its converter ignored
/// round_robin_gradients. DeepSpeed's slice mappings follow the optimizer's order, but the flat buffers that
/// they index follow the order of `param_shapes` (runtime/zero/stage_1_and_2.py, _link_all_hp_params;
/// reproduced with 0.19.8). Immutable; thread-safe.
class OverlookedOrder
{
public:
    /// `unit`: a whole unit with its parameters in the order of `param_shapes`. A reference to it is kept.
    /// `ranks`: those of the source.
    OverlookedOrder(const FlatUnit& unit, uint32_t ranks);

    /// The runs that hold a parameter's own elements, in order. They are the same for every state.
    [[nodiscard]] std::vector<MovedRun> runsOf(uint32_t position) const;

private:
    const FlatPartition& m_listed;
    FlatPartition m_converted; ///< the same elements in the converter's partition
    std::vector<uint32_t> m_positions; ///< place in m_cut → position in the unit
};

/// The data-parallel ranks of the universal folder's source, if its model file records more than one.
std::optional<uint32_t> convertedRanks(const Checkpoint& universal);

/// For a universal folder with copies of weights: compares some masters of every group with them. This is the
/// only way to detect the errors of DeepSpeed's converter with a round-robin source.
void checkUniversalAgrees(const Reading& reading);

} // namespace shardscope
