// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <QString>

namespace shardscope::ui {

/// All ranks of a checkpoint in one list: pipeline stage by stage, in each tensor slice by slice, in each the
/// data-parallel ranks. Views and SelectedThing name a rank by its number in it; without tensor and pipeline
/// parallelism that is the dp rank. A universal folder has none, except for frozen parameters of ZeRO-3:
/// its other tensors are for any number of ranks.
uint32_t rankCount(const Checkpoint& checkpoint);
RankCoordinate rankAt(const Checkpoint& checkpoint, uint32_t number);
uint32_t rankNumber(const Checkpoint& checkpoint, const RankCoordinate& rank);

/// The number of the rank that a file belongs to. Empty for files of all ranks or none.
std::optional<uint32_t> rankOfFile(const Checkpoint& checkpoint, const CheckpointFile& file);

/// The row of a rank in the map of a unit: its place in the unit's partition. Empty if it has no
/// share, as of tensors that are stored whole.
std::optional<uint32_t> rowOfRank(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t number);
/// The number of the rank in a row of a unit's map.
uint32_t rankOfRow(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t row);
/// "dp 3", with the other coordinates where there are several: "pp 1 · tp 0 · dp 3".
QString rankLabel(const Checkpoint& checkpoint, const RankCoordinate& rank);

/// The part of a checkpoint that a rank belongs to.
const Checkpoint& partOfRank(const Checkpoint& checkpoint, uint32_t number);

} // namespace shardscope::ui
