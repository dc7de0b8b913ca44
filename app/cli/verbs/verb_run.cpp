// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/jobs/export_job.h"
#include "app/cli/jobs/repair_job.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/plan/saved/saved_plan.h"

namespace shardscope::cli {

namespace {

constexpr uint64_t kPlanLimitBytes = uint64_t{256} << 20;

/// DST, or the folder in the plan.
std::string destinationOf(const Session& session, const SavedPlan& saved)
{
    const std::string elsewhere = session.arguments().positional("DST");
    return elsewhere.empty() ? saved.destination.string() : elsewhere;
}

/// Plans the saved options again.
Result<WriteJob> jobOf(const Session& session, const SavedPlan& saved, const CheckpointPtr& source)
{
    const std::string destination = destinationOf(session, saved);
    if (const auto* exported = std::get_if<ExportOptions>(&saved.options))
        return exportJobFor(session, source, *exported, destination);
    SHARDSCOPE_TRY(auto plan, planFor(session, source, std::get<ReshardOptions>(saved.options)));
    return WriteJob{std::move(plan), source, destination, destination};
}

Result<int> runSavedRepair(Session& session, const SavedPlan& saved)
{
    const auto plan = planSavedRepair(session.files(), saved, session.job(), session.shared());
    if (!plan)
        return forward(refusal(plan.error()));
    return runRepairPlan(session, *plan, destinationOf(session, saved), "run");
}

Result<int> runSavedPlan(Session& session)
{
    const std::string path = session.arguments().positional("FILE");
    SHARDSCOPE_TRY(const std::string text, session.files().readSmall(path, kPlanLimitBytes));
    SHARDSCOPE_TRY(const SavedPlan saved, parseSavedPlan(text, path));
    if (std::holds_alternative<RepairOptions>(saved.options))
        return runSavedRepair(session, saved);

    SHARDSCOPE_TRY(const OpenedCheckpoint opened,
        openCheckpoint(session.files(), saved.source, openOptionsOf(saved), session.job()));
    SHARDSCOPE_CHECK(requireTag(*opened.checkpoint));
    SHARDSCOPE_CHECK(requireKnownKind(*opened.checkpoint));
    SHARDSCOPE_TRY(const WriteJob job, jobOf(session, saved, opened.checkpoint));
    SHARDSCOPE_CHECK(checkSavedPlan(saved, *job.plan));
    return runWriteJob(session, job, "run");
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
