// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/jobs/repair_job.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"

#include "core/far/far_path.h"

namespace shardscope::cli {

namespace {

Result<int> runSavedPlan(Session& session)
{
    std::string destination = session.arguments().positional("DST");
    SHARDSCOPE_TRY(const PlannedAgain again,
        planSavedAgain(session, session.arguments().positional("FILE"), destination));
    if (far::isElsewhere(destination))
        return fail(ErrorCode::Unsupported, "the target of the plan is not on this machine", destination,
            "name another target, or give the command itself, which runs on that host");
    if (again.plan->repair)
        return runRepairPlan(session, again.plan, destination, "run");
    return runWriteJob(session, {again.plan, again.source, destination, again.folder}, "run");
}

} // namespace

Command runCommand()
{
    return {
        .name = "run",
        .summary = "execute a saved plan",
        .description
        = {"Executes a plan that `shardscope plan` saved. It plans again from the same source and refuses "
           "when the result differs from the saved plan. That means that a file of the source was rewritten, "
           "replaced or lost. Contents are compared by checksums, not only by times.",
            "After an interruption, the same command continues the job."},
        .positionals = {{.name = "FILE", .kind = ValueKind::File, .help = "The saved plan."},
            {.name = "DST",
                .kind = ValueKind::NewFolder,
                .help = "The folder to write into, instead of the one in the plan.",
                .required = false}},
        .options = writeOptions(),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope run llama-16.json", "As planned:"},
            {"shardscope run llama-16.json --dry-run", "Is the plan still valid?"}},
        .run = runSavedPlan,
        .resumes = true,
    };
}

} // namespace shardscope::cli
