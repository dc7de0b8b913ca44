// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "ui/session/plans/plan_preview.h"

#include <optional>
#include <stop_token>
#include <string>

namespace shardscope::ui {

/// Plans the repair. For a worker; writes no files.
PlanPreview previewRepair(io::FileSystem& files, const CheckPlace& place, const RepairOptions& options,
    const io::Path& target, const std::stop_token& token);

/// Why the findings of one code cannot be repaired with the default settings, as text for people; empty if
/// they can be. Nothing if only reading all values would show it. For a worker: plans, without reading
/// values.
std::optional<QString> whyNotRepaired(
    io::FileSystem& files, const CheckPlace& place, const std::string& code, const std::stop_token& token);

/// The repair as a command line of `shardscope`, quoted for a shell. `target`: the run folder to write into.
QString repairCommand(const CheckPlace& place, const RepairOptions& options, const QString& target);

/// One change as a line: place, description, and for a single value the values before and after.
QString changeText(const RepairChange& change);

} // namespace shardscope::ui
