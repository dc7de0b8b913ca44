// SPDX-License-Identifier: Apache-2.0
#include "core/engine/execute.h"

#include "core/engine/run_plan.h"
#include "core/engine/verify_export.h"

#include <algorithm>

namespace shardscope {

Result<ExecuteReport> execute(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
{
    const bool exports = plan.outcome() == OutcomeKind::Export;
    return runPlan(files, plan, options, exports ? exportHooks() : checkpointHooks(), job);
}

const char* ExecuteReport::limitedBy() const
{
    const auto longest = std::max_element(stageSeconds.begin(), stageSeconds.end());
    return *longest > 0 ? kStageNames[static_cast<size_t>(longest - stageSeconds.begin())] : nullptr;
}

} // namespace shardscope
