// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/session/plans: plans a reshard, export or repair for a dialog, without writing, and gives it as a
// command line. Start with ReshardWish and previewOf().

#include "core/layout/map_query.h"
#include "core/layout/rank_load.h"
#include "core/plan/reshard/reshard.h"
#include "ui/session/plans/plan_preview.h"

#include <stop_token>
#include <vector>

namespace shardscope::ui {

/// The choices of the reshard dialog.
struct ReshardWish : PlanWish {
    ReshardOptions options; ///< except the patterns, which the planner reads
};

/// The result of planning, before any file is written.
struct ReshardPreview : PlanPreview {
    /// The new layout as a checkpoint that is not there yet, for the map: every param group as one unit.
    CheckpointPtr target;
    size_t subGroups = 0; ///< of all param groups of the target; 0 where none has several
    RankLoad load; ///< of the target
    MapLooksPtr looks; ///< of the target
};

/// Plans, and looks at the target. For a worker thread.
ReshardPreview previewOf(io::FileSystem& files, const CheckpointPtr& source, const ReshardWish& wish,
    const std::stop_token& token);

/// The same as a command line of `shardscope`, quoted for a shell.
QString commandOf(const SourceWords& source, const ReshardWish& wish);

} // namespace shardscope::ui
