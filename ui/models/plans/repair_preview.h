// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "ui/jobs/check_run.h"

#include <QString>

#include <optional>
#include <stop_token>

namespace shardscope::ui {

/// A plan that repairs, or why there is none.
struct RepairPreview {
    std::shared_ptr<const RepairPlan> plan;
    std::optional<Error> problem; ///< set exactly when there is no plan
};

/// Plans the repair. For a worker; writes no files.
RepairPreview previewRepair(io::FileSystem& files, const CheckPlace& place, const RepairOptions& options,
    const std::stop_token& token);

/// The same as a command line of `shardscope`, quoted for a shell; `DST` is a placeholder for the target
/// folder, which is not chosen yet.
QString repairCommand(const CheckPlace& place, const RepairOptions& options);

/// One change as a line: place, description, and for a single value the values before and after.
QString changeText(const RepairChange& change);

} // namespace shardscope::ui
