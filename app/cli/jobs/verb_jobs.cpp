// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/detached_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/jobs/job_process.h"
#include "core/report/jobs/jobs_report.h"

#include <poll.h>

namespace shardscope::cli {

namespace {

constexpr int kLookMs = 100;
constexpr int kLooks = 100;

Status show(Session& session, const std::vector<jobs::JobEntry>& entries)
{
    Output& output = session.output();
    if (output.json())
        writeJobsJson(output.answer(), entries);
    else if (!output.quiet() || !entries.empty())
        writeJobsText(output.answer(), output.answerStyle(), entries);
    return {};
}

/// Waits a moment for its end, so that the state is the one that was asked for.
Result<jobs::JobEntry> stopped(Session& session, const jobs::JobStore& store, const std::string& id)
{
    SHARDSCOPE_CHECK(store.stop(id));
    for (int i = 0;; ++i) {
        SHARDSCOPE_TRY(jobs::JobEntry job, store.entry(id));
        if (job.state != jobs::JobState::Running || i == kLooks || session.job().cancelled())
            return job;
        (void)::poll(nullptr, 0, kLookMs);
    }
}

Result<jobs::JobEntry> resumed(const jobs::JobStore& store, const std::string& id)
{
    SHARDSCOPE_TRY(const jobs::JobEntry job, store.entry(id));
    if (job.state == jobs::JobState::Ended && job.end->exit == 0)
        return fail(ErrorCode::Usage, "the job has ended, and nothing is left to continue");
    SHARDSCOPE_CHECK(jobs::startJob(store, id));
    return store.entry(id);
}

Result<int> runJobs(Session& session)
{
    const Arguments& arguments = session.arguments();
    const jobs::JobStore store(session.files());
    std::string asked;
    for (const char* option : {"--attach", "--stop", "--resume", "--forget"}) {
        if (!arguments.has(option))
            continue;
        if (!asked.empty())
            return fail(
                ErrorCode::Usage, asked + " and " + option + " exclude each other", {}, Hint::omit(option));
        asked = option;
    }
    const std::string id = asked.empty() ? std::string() : arguments.text(asked);
    std::vector<jobs::JobEntry> shown;
    if (asked == "--attach")
        return attachTo(session, store, id);
    if (asked == "--stop") {
        SHARDSCOPE_TRY(shown.emplace_back(), stopped(session, store, id));
    } else if (asked == "--resume") {
        SHARDSCOPE_TRY(shown.emplace_back(), resumed(store, id));
    } else if (asked == "--forget") {
        SHARDSCOPE_TRY(shown.emplace_back(), store.entry(id));
        SHARDSCOPE_CHECK(store.forget(id));
    } else {
        SHARDSCOPE_TRY(shown, store.all());
    }
    SHARDSCOPE_CHECK(show(session, shown));
    if (asked == "--resume" && !session.output().quiet())
        session.output().message("`" + jobsCommand(session.output().host(), "--attach", id) + "` shows it\n");
    return kExitDone;
}

Option idOption(const char* name, const char* help)
{
    return {.name = name, .kind = ValueKind::Text, .valueName = "ID", .help = help};
}

} // namespace

Command jobsCommand()
{
    return {
        .name = "jobs",
        .summary = "list commands that run as jobs of their own, or were interrupted",
        .description
        = {"A command that writes to another host, such as `reshard node7:/a node7:/b`, runs there as a "
           "process of its own. It continues when the connection is lost. This command lists such jobs of "
           "HOST, or of this machine, newest first: those that run, those that were interrupted, and those "
           "that have ended. `shardscope help far` describes them.",
            "The records are in the user's cache of that machine. The newest 50 of the jobs that have ended "
            "are "
            "kept, and all others."},
        .positionals = {{.name = "HOST",
            .kind = ValueKind::Text,
            .help = "Another host as `[user@]host:`. Default: this machine.",
            .required = false}},
        .options
        = {idOption("--attach",
               "Show messages and progress of this job until it ends, and its answer; with its exit status. "
               "Ctrl+C ends only the view."),
            idOption("--stop", "Stop it, as Ctrl+C does. It can be resumed."),
            idOption("--resume", "Start its command again. It continues where it was interrupted."),
            idOption("--forget", "Remove the record of a job that does not run. Files that it wrote stay.")},
        .commonOptions = outputOptions(),
        .examples = {{"shardscope jobs node7:", "What runs there, or was interrupted?"},
            {"shardscope jobs node7: --attach 5f2c81d0", "Show one until it ends:"}},
        .run = runJobs,
        .reads = true,
    };
}

} // namespace shardscope::cli
