// SPDX-License-Identifier: Apache-2.0
#include "ui/models/plans/run_look.h"

#include "ui/text/plan_text.h"

#include <QCoreApplication>

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::RunLook)
};

} // namespace

std::optional<Error> problemOfRun(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
{
    const io::Path target = options.destination / plan.targetName;
    const std::string replace
        = Words::tr("Choose another folder or tick “Replace an existing target”.").toStdString();
    const auto outlook = examineRun(files, plan, options, job);
    if (outlook && outlook->isDone)
        return Error{ErrorCode::TargetExists,
            Words::tr("An earlier job has written exactly this target.").toStdString(), target.native(),
            replace};
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
