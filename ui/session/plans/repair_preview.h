// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "ui/session/plans/plan_preview.h"

#include <stop_token>

namespace shardscope::ui {

/// Plans the repair. For a worker; writes no files.
PlanPreview previewRepair(io::FileSystem& files, const CheckPlace& place, const RepairOptions& options,
    const io::Path& target, const std::stop_token& token);

/// The same as a command line of `shardscope`, quoted for a shell. `target`: the run folder to write into.
QString repairCommand(const CheckPlace& place, const RepairOptions& options, const QString& target);

/// One change as a line: place, description, and for a single value the values before and after.
QString changeText(const RepairChange& change);

} // namespace shardscope::ui
