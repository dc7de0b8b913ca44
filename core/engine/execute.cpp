// SPDX-License-Identifier: Apache-2.0
#include "core/engine/execute.h"

#include "core/engine/run_plan.h"

namespace shardscope {

Result<ExecuteReport> execute(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
{
    return runPlan(files, plan, options, checkpointHooks(), job);
}

} // namespace shardscope
