// SPDX-License-Identifier: Apache-2.0
#include "ui/session/plans/plan_preview.h"

#include "core/engine/write/preflight.h"
#include "core/far/far_path.h"
#include "ui/session/stored_jobs.h"
#include "ui/text/plan_text.h"
#include "ui/text/text.h"

#include <QDir>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

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

} // namespace

io::Path proposedBeside(const io::Path& run)
{
    return far::isFar(run) ? toPath(QDir::homePath()) / run.filename() : run;
}

void examineFolder(io::FileSystem& files, const io::Path& sourceRun, const PlanWish& wish, JobContext& job,
    PlanPreview& preview)
{
    preview.freeBytes = freeBytesAt(files, preview.folder);
    preview.resumes
        = StoredJobs::begun(files, *preview.plan, preview.folder) == StoredJobs::Begun::Interrupted;
    ExecuteOptions run;
    run.destination = preview.folder;
    run.sourceRunFolder = sourceRun;
    run.force = wish.force;
    preview.problem = problemOfRun(files, *preview.plan, run, job);
}

QString commandText(ShellCommand& command, const OptionFields& options, const PlanWish& wish)
{
    return command.options(options)
        .optionIfAny(u"--patterns"_s, wish.patternsFile.native())
        .flag(u"--no-verify"_s, !wish.verify)
        .flag(u"--force"_s, wish.force)
        .text();
}

} // namespace shardscope::ui
