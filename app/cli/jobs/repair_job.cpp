// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/repair_job.h"

#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/frame/word_list.h"
#include "app/cli/jobs/write_job.h"
#include "core/report/answers/repair_report.h"

namespace shardscope::cli {

namespace {

Result<RepairOptions> optionsFrom(const Session& session)
{
    const Arguments& arguments = session.arguments();
    RepairOptions out;
    SHARDSCOPE_TRY(out.fixes, findingsAsked(arguments, "--fix", "all"));
    out.values = arguments.all("--set");
    out.donor = arguments.text("--from");
    const std::string masters = arguments.text("--masters");
    out.masters = masters == "copies" ? RepairOptions::Masters::Copies
        : masters == "donor"          ? RepairOptions::Masters::Donor
                                      : RepairOptions::Masters::Default;
    const std::string moments = arguments.text("--moments");
    out.moments = moments == "zeros" ? RepairOptions::Moments::Zeros
        : moments == "donor"         ? RepairOptions::Moments::Donor
                                     : RepairOptions::Moments::Default;
    out.depth = parseCheckDepth(arguments.text("--depth")); // a choice, or absent
    out.tagOut = arguments.text("--tag-out");
    out.writePointer = !arguments.has("--no-latest");
    SHARDSCOPE_TRY(out.allow, allowedCodes(arguments));
    return out;
}

} // namespace

Result<WritePlanPtr> planRepairAsked(Session& session)
{
    SHARDSCOPE_TRY(const RepairOptions options, optionsFrom(session));
    if (options.fixes.empty() && options.values.empty())
        return fail(ErrorCode::Usage, "no repair is given", {},
            "name findings with --fix, or use --fix all; `shardscope check` lists them");
    auto planned
        = planRepair(session.files(), session.askedPath(), session.openOptions(), options, session.job());
    if (!planned)
        return forward(refusal(planned.error()));
    return planned;
}

Result<int> runRepairPlan(
    Session& session, const WritePlanPtr& plan, const std::string& destination, const std::string& verb)
{
    Output& output = session.output();
    std::optional<RepairCheck> check;
    bool checkStopped = false;
    WriteJob job{plan, plan->repair->source, destination, destination};
    job.repaired = [&]() -> RepairOutcome {
        return {check, check || checkStopped ? std::optional(!checkStopped) : std::nullopt};
    };
    job.afterwards = [&](const ExecuteReport& report) -> Result<int> {
        CheckOptions again;
        again.depth = plan->repair->depth;
        session.job().log("checking the output again");
        const auto after = examine(session.files(), report.output, again, session.job());
        if (!after && after.error().code != ErrorCode::Cancelled)
            return forward(after.error());
        // A stop can come before or after the first findings; either way the check is not complete.
        checkStopped = !after || after->stopped;
        if (checkStopped)
            return exitCode(ErrorCode::Cancelled);
        check = compareChecks(*plan, *after);
        return check->ok() ? kExitDone : kExitNo;
    };
    if (!output.json() && !output.quiet())
        writeChangesText(output.answer(), output.answerStyle(), *plan);
    SHARDSCOPE_TRY(const int code, runWriteJob(session, job, verb));
    if (checkStopped && !output.json())
        output.answer()(session.arguments().has("--no-verify")
                ? "interrupted: the output is complete, but it was not checked again\n"
                : "interrupted: the output is complete and verified, but it was not checked again\n");
    if (check && !output.json() && (!output.quiet() || !check->ok()))
        writeRepairCheckText(output.answer(), output.answerStyle(), *check);
    return code;
}

std::vector<Option> repairOptions()
{
    return {
        {.name = "--fix",
            .kind = ValueKind::Text,
            .valueName = "CODE",
            .help = "What to repair: findings of `check`, by code or letter, separated by commas, or `all`. "
                    "`all` leaves out info findings, and is refused where split-shards is found: name these. "
                    "Can be "
                    "repeated.",
            .repeats = true},
        {.name = "--set",
            .kind = ValueKind::Text,
            .valueName = "NAME=VALUE",
            .help
            = "Set a value: step, global_steps, global_samples, skipped_steps, scale (of the loss), "
              "lr_scheduler.KEY, or an option of all param groups (lr=1e-4) or of one (1:lr=1e-4). The old "
              "value may be correct, too. Can be repeated.",
            .repeats = true},
        {.name = "--from",
            .kind = ValueKind::Path,
            .valueName = "PATH",
            .help
            = "Where to read lost values: another checkpoint of the same run, of any kind and number "
              "of ranks, or, for frozen parameters and buffers, weights of the base model. A lost model "
              "file is rebuilt from a checkpoint of the same kind and number of ranks. Default: "
              "the nearest complete tag."},
        {.name = "--masters",
            .kind = ValueKind::Choice,
            .valueName = "SOURCE",
            .help = "Where to read lost masters: the 16-bit copies in the model file, or the other "
                    "checkpoint (donor). Default: copies, if there are any.",
            .choices = {"copies", "donor"}},
        {.name = "--moments",
            .kind = ValueKind::Choice,
            .valueName = "SOURCE",
            .help = "Where to read lost optimizer states: the other checkpoint (donor), or zeros. Default: "
                    "donor, if there is one.",
            .choices = {"donor", "zeros"}},
        {.name = "--depth",
            .kind = ValueKind::Choice,
            .valueName = "DEPTH",
            .help = "What to read for the findings that --fix names: directories, pickles and a few values "
                    "(metadata), or every byte. Default: what the named findings need; for `all`, metadata.",
            .choices = {"metadata", "bytes"}},
        {.name = "--tag-out",
            .kind = ValueKind::Text,
            .valueName = "TAG",
            .help = "Name of the repaired tag. Default: the tag of the source."},
        {.name = "--no-latest", .help = "Do not write `latest`."},
        {.name = "--allow",
            .kind = ValueKind::Text,
            .valueName = "CODE",
            .help = "Proceed despite this finding, which stays in the copy. The result is marked. Can be "
                    "repeated.",
            .repeats = true}};
}

} // namespace shardscope::cli
