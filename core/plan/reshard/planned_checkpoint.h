// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/rank_load.h"
#include "core/plan/reshard/reshard.h"

#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// The checkpoint that a plan of planReshard() writes, before it is written: its ranks, its units, and its
/// files with their sizes. It is for showing the layout. It has no values: the places of elements inside the
/// files are not set, and the files cannot be read.
CheckpointPtr plannedCheckpoint(const WritePlan& plan);

/// What the ranks of that target would hold if the plan were made for each of these numbers of ranks. Nothing
/// for a number that the target cannot have (parallel ranks or experts that do not divide), for those after
/// `job` was cancelled, and for universal folders, which have no ranks. Pure; computes the layout of all
/// parameters for each number.
std::vector<std::optional<RankLoad>> plannedLoads(
    const WritePlan& plan, std::span<const uint32_t> worldSizes, JobContext& job);

} // namespace shardscope
