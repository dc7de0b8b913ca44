// SPDX-License-Identifier: Apache-2.0
#include "ui/session/plans/run_look.h"

#include "ui/text/plan_text.h"

namespace shardscope::ui {

std::optional<Error> problemOfRun(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
{
    const io::Path target = options.destination / plan.targetName;
    const std::string replace = "Choose another folder or tick “Replace an existing target”.";
    const auto outlook = examineRun(files, plan, options, job);
    if (outlook && outlook->isDone)
        return Error{ErrorCode::TargetExists, "An earlier job has written exactly this target.",
            target.native(), replace};
    if (outlook)
        return std::nullopt;
    Error error = outlook.error();
    if (error.code == ErrorCode::Busy)
        return runningElsewhere(target);
    if (error.code == ErrorCode::TargetExists && !options.force)
        error.hint = replace;
    return error;
}

} // namespace shardscope::ui
