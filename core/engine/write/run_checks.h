// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"
#include "core/engine/write/work_folder.h"

#include <memory>

namespace shardscope {

/// What a run looks at before it writes payload, and what it looks at alone (examineRun()).
class RunChecks
{
public:
    RunChecks(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job);

    /// examineRun().
    Result<RunOutlook> look();
    /// What a part of a job is refused for as the whole job is. Whether the whole job is done.
    Result<bool> beforePart();

protected:
    Status begin();
    /// Of m_work, which is set.
    Result<bool> isSealedInTarget();
    Result<bool> wasDone();
    Status checkTarget();
    Status refuseExistingTarget();
    Status checkOptions();
    /// Whether what is next to the target does not conflict with the files that will be published there.
    Status checkWaiting();

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    const ExecuteOptions& m_options;
    JobContext& m_job;
    io::Path m_target;
    io::Path m_workPlace; ///< the parent of the work folder
    bool m_targetThere = false;
    bool m_isPublishing = false; ///< an interrupted run began to move files into the target
    std::unique_ptr<WorkFolder> m_work;

private:
    Result<bool> holdsSealedManifest();
    Result<uint64_t> bytesLeft();
};

} // namespace shardscope
