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

/// As the command line refuses it.
Status checkAllThere(const std::string& host, const WritePlan& plan, const PlanWish& wish)
{
    const std::string runs = "`" + plan.verb + "` runs on " + host + ", where it writes";
    if (!wish.patternsFile.empty())
        return fail(ErrorCode::Unsupported, runs + ", and takes no file of this machine as --patterns",
            wish.patternsFile.native(), "leave the patterns as the checkpoint records them");
    for (const PlanSource& source : plan.sources) {
        const auto there = far::farPathOf(source.path);
        if (there && there->host == host)
            continue;
        return fail(ErrorCode::Unsupported,
            runs + ", and the source is on " + (there ? there->host : std::string("this machine")),
            source.path.parent_path().native(),
            "copy it to " + host + " first, or write to this machine and copy the result");
    }
    return {};
}

std::optional<Error> problemThere(
    io::FileSystem& files, const std::string& host, const PlanPreview& preview, const PlanWish& wish)
{
    if (Status all = checkAllThere(host, *preview.plan, wish); !all)
        return std::move(all).error();
    const io::Path target = preview.folder / preview.plan->targetName;
    const auto isTaken = isOccupied(files, *preview.plan, target);
    if (!isTaken)
        return isTaken.error();
    if (*isTaken && !wish.force)
        return Error{ErrorCode::TargetExists, "the target exists", target.native(),
            "Choose another folder or tick “Replace an existing target”."};
    return std::nullopt;
}

} // namespace

bool isWholePath(const io::Path& path)
{
    return path.is_absolute() || far::isFar(path);
}

io::Path proposedBeside(const io::Path& run)
{
    return far::isElsewhere(run) ? toPath(QDir::homePath()) / run.filename() : run;
}

void examineFolder(io::FileSystem& files, const io::Path& sourceRun, const PlanWish& wish, JobContext& job,
    PlanPreview& preview)
{
    preview.freeBytes = freeBytesAt(files, preview.folder);
    if (const auto there = far::farPathOf(wish.target.empty() ? preview.folder : wish.target)) {
        preview.problem = problemThere(files, there->host, preview, wish);
        if (!preview.problem)
            preview.note = u"The job runs on %1, also when this window is closed."_s.arg(toText(there->host));
        return;
    }
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
