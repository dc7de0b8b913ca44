// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"
#include "ui/session/plans/plan_preview.h"

#include <stop_token>

namespace shardscope::ui {

/// The choices of the export dialog.
struct ExportWish : PlanWish {
    ExportOptions options; ///< except the patterns, which the planner reads, and the folder's name
};

/// Plans, and looks at the target. For a worker thread.
PlanPreview previewOf(
    io::FileSystem& files, const CheckpointPtr& source, const ExportWish& wish, const std::stop_token& token);

/// Whether an adapter's configuration is next to the checkpoint and is copied; else it is created.
bool takesConfigurationAlong(const WritePlan& plan);

/// The same as a command line of `shardscope`, quoted for a shell.
QString commandOf(const SourceWords& source, const ExportWish& wish);

} // namespace shardscope::ui
