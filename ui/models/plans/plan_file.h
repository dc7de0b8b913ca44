// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"
#include "core/plan/reshard/reshard.h"
#include "ui/jobs/check_run.h"

#include <QString>

namespace shardscope::ui {

/// Saves a plan for `shardscope run` (core/plan/saved/saved_plan.h). `destination` is what the command line
/// calls DST. Returns why the file could not be written; empty if it was. For a worker thread.
QString savePlanFile(const QString& path, const ReshardPlan& plan, const PlacedCheckpoint& source,
    const io::Path& destination);
QString savePlanFile(
    const QString& path, const ExportPlan& plan, const PlacedCheckpoint& source, const io::Path& destination);

} // namespace shardscope::ui
