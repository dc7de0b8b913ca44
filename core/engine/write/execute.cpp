// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/execute.h"

#include "core/engine/verify/verify_export.h"
#include "core/engine/write/run_checks.h"
#include "core/engine/write/run_plan.h"

#include <algorithm>
#include <thread>

namespace shardscope {

Result<ExecuteReport> execute(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
{
    switch (plan.outcome) {
    case OutcomeKind::Export:
        return runPlan(files, plan, options, exportHooks(), job);
    case OutcomeKind::Copy:
        return runPlan(files, plan, options, {}, job);
    case OutcomeKind::Checkpoint:
        break;
    }
    return runPlan(files, plan, options, checkpointHooks(), job);
}

Result<RunOutlook> examineRun(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
{
    return RunChecks(files, plan, options, job).look();
}

namespace {

/// From here on threads wait for the processor more than for anything else.
constexpr double kBusyShare = 0.85;

} // namespace

double ExecuteReport::rateOf(Stage stage) const
{
    const double busy = stageSeconds[static_cast<size_t>(stage)] / static_cast<double>(workers);
    const uint64_t bytes = stage == Stage::Reading ? bytesRead
        : stage == Stage::Writing                  ? bytesWritten
        : stage == Stage::Verification             ? bytesReadBack
                                                   : 0;
    return busy > 0 ? static_cast<double>(bytes) / busy : 0;
}

double ExecuteReport::processorShare() const
{
    const double all = seconds * std::max(1u, std::thread::hardware_concurrency());
    return all > 0 ? std::min(1.0, processorSeconds / all) : 0;
}

const char* ExecuteReport::limitedBy() const
{
    const auto secondsOf = [&](Stage stage) { return stageSeconds[static_cast<size_t>(stage)]; };
    const auto longest = std::ranges::max_element(kInputOutputStages, {}, secondsOf);
    if (secondsOf(*longest) <= 0)
        return nullptr;
    if (secondsHeldBack >= secondsOf(*longest) / 2)
        return "bwlimit";
    return processorShare() >= kBusyShare ? "processor" : kStageNames[static_cast<size_t>(*longest)];
}

} // namespace shardscope
