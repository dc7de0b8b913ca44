// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/execute.h"

#include "core/engine/verify/verify_export.h"
#include "core/engine/write/run_plan.h"

#include <algorithm>

namespace shardscope {

Result<ExecuteReport> execute(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
{
    switch (plan.outcome()) {
    case OutcomeKind::Export:
        return runPlan(files, plan, options, exportHooks(), job);
    case OutcomeKind::Copy:
        return runPlan(files, plan, options, {}, job);
    case OutcomeKind::Checkpoint:
        break;
    }
    return runPlan(files, plan, options, checkpointHooks(), job);
}

const char* ExecuteReport::limitedBy() const
{
    const auto longest = std::max_element(stageSeconds.begin(), stageSeconds.end());
    return *longest > 0 ? kStageNames[static_cast<size_t>(longest - stageSeconds.begin())] : nullptr;
}

} // namespace shardscope
