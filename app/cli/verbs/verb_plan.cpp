// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/export_job.h"
#include "app/cli/jobs/repair_job.h"
#include "app/cli/jobs/text_file.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/engine/write/execute.h"
#include "core/engine/write/preflight.h"
#include "core/plan/saved/saved_plan.h"
#include "core/report/answers/plan_report.h"
#include "core/report/answers/repair_report.h"
#include "core/report/text/printable.h"

namespace shardscope::cli {

namespace {

/// Writes the plan's file and answers.
Result<int> keepPlan(Session& session, const WriteJob& job, const SavedPlan& saved)
{
    const Arguments& arguments = session.arguments();
    const std::string file = arguments.text("--output");
    SHARDSCOPE_CHECK(writeTextFile(session, file, savedPlanText(saved), arguments.has("--force")));

    const PlanContext context{.verb = "plan",
        .source = checkpointFolder(*job.source),
        .sourceTag = job.source->tag,
        .destination = job.destination,
        .memoryBytes = ExecuteOptions().memoryLimitBytes,
        .freeBytes = freeBytesAt(session.files(), job.folder),
        .savedTo = file,
        .part = {},
        .repaired = {}};
    Output& output = session.output();
    if (output.json())
        writePlanJson(output.answer(), context, *job.plan, std::nullopt);
    else if (!output.quiet())
        writePlanText(output.answer(), output.answerStyle(), context, *job.plan);
    if (!output.json())
        output.answer()("saved to " + (file == kStandardOutput ? "standard output" : printable(file))
            + "; `shardscope run` executes it\n");
    return kExitDone;
}

Result<int> savePlanOf(Session& session, Result<WriteJob> (*planJob)(Session& session))
{
    SHARDSCOPE_CHECK(checkStandardOutput(session, {"--output"}));
    SHARDSCOPE_TRY(const WriteJob job, planJob(session));
    return keepPlan(session, job, savePlan(*job.plan, *job.source, session.openOptions(), job.destination));
}

Result<int> runPlanRepair(Session& session)
{
    SHARDSCOPE_CHECK(checkStandardOutput(session, {"--output"}));
    SHARDSCOPE_TRY(const auto plan, planRepairAsked(session));
    const std::string destination = session.arguments().positional("DST");
    const WriteJob job{plan, plan->repair->source, destination, destination};
    Output& output = session.output();
    if (!output.json() && !output.quiet())
        writeChangesText(output.answer(), output.answerStyle(), *plan);
    return keepPlan(session, job, savePlan(*plan, *job.source, {}, destination));
}

Result<int> runPlanReshard(Session& session)
{
    return savePlanOf(session, planReshardJob);
}

Result<int> runPlanConvert(Session& session)
{
    return savePlanOf(session, planConvertJob);
}

Result<int> runPlanExport(Session& session)
{
    return savePlanOf(session, planExportJob);
}

/// The verb with the options that decide the outcome. An option for the plan's file replaces the options of
/// the run.
Command planOf(Command verb, std::vector<Option> options)
{
    verb.description = {"Plans what `shardscope " + verb.name
        + "` would do and saves the plan to a file. Nothing else is written. `shardscope run FILE` executes "
          "it, if the source is still the same."};
    verb.summary = "plan `" + verb.name + "` and save the plan";
    verb.options
        = joined({{.name = "--output",
                      .letter = 'o',
                      .kind = ValueKind::NewFile,
                      .valueName = "FILE",
                      .help = "Save the plan to this file. `-` means standard output: then the text of the "
                              "plan goes to standard error, and --json cannot be used. Required.",
                      .required = true},
                     {.name = "--force", .letter = 'f', .help = "Replace FILE when it exists."}},
            joined(std::move(options), checkpointOptions()));
    verb.resumes = false;
    verb.reads = true;
    return verb;
}

} // namespace

Command planCommand()
{
    Command reshard = planOf(reshardCommand(), optionsOf<ReshardOptions>());
    reshard.examples = {
        {"shardscope plan reshard runs/llama runs/llama-16 --world-size 16 -o llama-16.json", "Decide now:"},
        {"shardscope run llama-16.json", "Run it later, on another node:"}};
    reshard.run = runPlanReshard;
    Command convert = planOf(convertCommand(), convertOptions());
    convert.examples
        = {{"shardscope plan convert runs/llama runs/llama-u --to universal -o llama-u.json", "Decide now:"}};
    convert.run = runPlanConvert;
    Command exports = planOf(exportCommand(), optionsOf<ExportOptions>());
    exports.examples
        = {{"shardscope plan export runs/llama llama-bf16 --dtype bf16 -o llama-bf16.json", "Decide now:"}};
    exports.run = runPlanExport;
    Command repair = planOf(repairCommand(), optionsOf<RepairOptions>());
    repair.examples
        = {{"shardscope plan repair runs/llama runs/repaired --fix all -o repair.json", "Decide now:"}};
    repair.run = runPlanRepair;

    return {
        .name = "plan",
        .summary = "save the plan of a writing command, to run it later",
        .description = {"Plans a command that writes, and saves the plan to a file for `shardscope run`."},
        .commonOptions = outputOptions(),
        .examples = {{"shardscope plan reshard runs/llama runs/llama-16 --world-size 16 -o llama-16.json",
            "Plan a reshard:"}},
        .children = {std::move(reshard), std::move(convert), std::move(exports), std::move(repair)},
    };
}

} // namespace shardscope::cli
