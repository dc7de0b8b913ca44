// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"
#include "core/plan/export/export.h"
#include "core/plan/repair/repair.h"
#include "core/plan/reshard/reshard.h"
#include "ui/jobs/job.h"
#include "ui/session/stored_jobs.h"

namespace shardscope::ui {

/// Where jobs are stored while they run, and the stored form of this one.
struct JobStore {
    StoredJobs jobs;
    std::function<SavedPlan()> plan; ///< called on the job's thread
};

/// A job that runs a plan. Not yet started; JobList::add does that. `store`: null to store nothing. A
/// repaired copy is checked again, and the summary reports the result.
Job* makeWriteJob(io::FileSystem& files, const WritePlanPtr& plan, const ExecuteOptions& options,
    const std::shared_ptr<const JobStore>& store = {});
/// Writes the source of a repaired copy again, without its repairs. Plans on the job's thread; cannot be
/// stored.
Job* makeUndoJob(io::FileSystem& files, const io::Path& repairedTag, const ExecuteOptions& options);
/// Continues a stored job: plans again from its source, and refuses if that has changed.
Job* makeStoredJob(io::FileSystem& files, const StoredJob& stored, const StoredJobs& jobs);

} // namespace shardscope::ui
