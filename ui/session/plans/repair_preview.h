// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "ui/session/findings/finding_tree_model.h"
#include "ui/session/plans/plan_preview.h"

#include <optional>
#include <stop_token>
#include <string>

namespace shardscope::ui {

/// Plans the repair. For a worker; writes no files.
PlanPreview previewRepair(io::FileSystem& files, const CheckPlace& place, const RepairOptions& options,
    const io::Path& target, const std::stop_token& token);

/// Plans the repair of the findings of one code with the default settings. Values are read only if `most`
/// allows it and the findings are not seen without them. Nothing if more would have to be read. For a worker.
std::optional<RepairOutlook> outlookOf(io::FileSystem& files, const CheckPlace& place,
    const std::string& code, CheckDepth most, const std::stop_token& token);

/// The repair as a command line of `shardscope`, quoted for a shell. `target`: the run folder to write into.
QString repairCommand(const CheckPlace& place, const RepairOptions& options, const QString& target);

/// One change as a line: place, description, and for a single value the values before and after.
QString changeText(const RepairChange& change);

} // namespace shardscope::ui
