// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/session/plans: plans a reshard, export or repair for a dialog, without writing, and gives it as a
// command line. Start with ReshardWish and previewReshard().

#include "core/layout/map_query.h"
#include "core/layout/rank_load.h"
#include "core/plan/reshard/reshard.h"
#include "ui/session/shell_words.h"

#include <QString>

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace shardscope::ui {

/// The choices of the reshard dialog.
struct ReshardWish {
    ReshardOptions options; ///< except the patterns, which the planner reads
    io::Path patternsFile; ///< empty: as the checkpoint records
    io::Path destination;
    bool verify = true;
    bool force = false;
};

/// The result of planning, before any file is written.
struct ReshardPreview {
    WritePlanPtr plan; ///< null: see `problem`
    /// The new layout as a checkpoint that is not there yet, for the map: every param group as one unit.
    CheckpointPtr target;
    size_t subGroups = 0; ///< of the target's param group with the most
    RankLoad load; ///< of the target
    MapLooksPtr looks; ///< of the target
    std::optional<uint64_t> freeBytes; ///< at the destination
    bool targetExists = false;
    bool resumes = false; ///< an interrupted job of this plan is continued
    std::optional<Error> problem; ///< why it cannot be started
};

/// Plans, and looks at the destination. For a worker thread.
ReshardPreview previewReshard(io::FileSystem& files, const CheckpointPtr& source, const ReshardWish& wish,
    const std::stop_token& token);

/// The same as a command line of `shardscope`, quoted for a shell.
QString reshardCommand(const SourceWords& source, const ReshardWish& wish);

} // namespace shardscope::ui
