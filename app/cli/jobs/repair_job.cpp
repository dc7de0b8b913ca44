// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/repair_job.h"

#include "app/cli/frame/exit.h"
#include "app/cli/frame/word_list.h"
#include "app/cli/jobs/option_values.h"
#include "app/cli/jobs/write_job.h"
#include "core/checkpoint/model/require.h"
#include "core/report/answers/repair_report.h"

namespace shardscope::cli {

Result<WritePlanPtr> planRepairAsked(Session& session)
{
    RepairOptions options;
    SHARDSCOPE_CHECK(readOptions(session, fieldsOf(options)));
    SHARDSCOPE_TRY(options.fixes, findingsAsked(session.arguments(), "--fix", "all"));
    if (options.fixes.empty() && options.values.empty())
        return fail(ErrorCode::Usage, "no repair is given", {},
            "name findings with --fix, or use --fix all; " + Hint::command("check") + " lists them");
    return planRepair(session.files(), session.askedPath(), session.openOptions(), options, session.job(),
        session.shared());
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

} // namespace shardscope::cli
