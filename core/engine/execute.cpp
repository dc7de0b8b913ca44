// SPDX-License-Identifier: Apache-2.0
#include "core/engine/execute.h"

#include "core/engine/run_plan.h"
#include "core/engine/verify_export.h"

namespace shardscope {

Result<ExecuteReport> execute(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
{
    const bool exports = plan.outcome() == OutcomeKind::Export;
    return runPlan(files, plan, options, exports ? exportHooks() : checkpointHooks(), job);
}

} // namespace shardscope
