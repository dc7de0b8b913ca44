// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "ui/session/check_run.h"

#include <QString>

#include <optional>
#include <stop_token>

namespace shardscope::ui {

/// A plan that repairs, or why there is none.
struct RepairPreview {
    WritePlanPtr plan;
    std::optional<Error> problem; ///< why there is no plan, or why it cannot be written to the target
};

/// Plans the repair. For a worker; writes no files.
RepairPreview previewRepair(io::FileSystem& files, const CheckPlace& place, const RepairOptions& options,
    const io::Path& target, const std::stop_token& token);

/// The same as a command line of `shardscope`, quoted for a shell. `target`: the run folder to write into.
QString repairCommand(const CheckPlace& place, const RepairOptions& options, const QString& target);

/// One change as a line: place, description, and for a single value the values before and after.
QString changeText(const RepairChange& change);

} // namespace shardscope::ui
