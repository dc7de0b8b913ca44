// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"
#include "core/plan/export/export.h"
#include "core/plan/repair/repair.h"
#include "core/plan/reshard/reshard.h"
#include "ui/jobs/job.h"

namespace shardscope::ui {

/// A job that runs a reshard plan. Not yet started; JobList::add does that.
Job* makeReshardJob(
    io::FileSystem& files, const std::shared_ptr<const ReshardPlan>& plan, const ExecuteOptions& options);
/// The same for a repair. The written copy is checked again, and the summary reports the result.
Job* makeRepairJob(
    io::FileSystem& files, const std::shared_ptr<const RepairPlan>& plan, const ExecuteOptions& options);
/// The same for an export.
Job* makeExportJob(
    io::FileSystem& files, const std::shared_ptr<const ExportPlan>& plan, const ExecuteOptions& options);

} // namespace shardscope::ui
