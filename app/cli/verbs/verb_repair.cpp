// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/word_list.h"
#include "app/cli/jobs/repair_job.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/checkpoint/model/require.h"

namespace shardscope::cli {

namespace {

Option undoOption()
{
    return {.name = "--undo",
        .help = "Undo a repair: SRC is a repaired copy, and its source's tag is written again, from the "
                "source, which must be unchanged. With --fix, only the named fixes are undone."};
}

Result<int> runUndo(Session& session, const std::vector<std::string>& undone)
{
    const Arguments& arguments = session.arguments();
    auto planned = planUndo(session.files(), session.askedPath(), arguments.text("--tag"), undone,
        !arguments.has("--no-latest"), session.job(), session.shared());
    if (!planned)
        return forward(refusal(planned.error()));
    const std::string destination = arguments.positional("DST");
    if (planned->plan->repair)
        return runRepairPlan(session, planned->plan, destination, "repair");
    return runWriteJob(session, {planned->plan, planned->source, destination, destination}, "repair");
}

Result<int> runRepair(Session& session)
{
    const Arguments& arguments = session.arguments();
    if (arguments.has("--undo")) {
        // The copy's repair.json records all of this.
        for (const std::string_view other : {"--set", "--from", "--masters", "--moments", "--depth",
                 "--tag-out", "--allow", "--root", "--kind"}) {
            if (arguments.has(other))
                return fail(ErrorCode::Usage, "--undo takes no " + std::string(other), {},
                    "with --undo, use only --fix and --tag to choose what to write");
        }
        SHARDSCOPE_TRY(const auto undone, findingsAsked(arguments, "--fix", "all"));
        return runUndo(session, undone);
    }
    SHARDSCOPE_TRY(const auto plan, planRepairAsked(session));
    return runRepairPlan(session, plan, arguments.positional("DST"), "repair");
}

} // namespace

Command repairCommand()
{
    return {
        .name = "repair",
        .summary = "write a repaired copy of a checkpoint",
        .description
        = {"Repairs findings of `check` on a copy. The source is never changed. All changes are shown first, "
           "value by value. Then the copy is written, verified and checked again. The exit status is 1 when "
           "a repaired finding is still there or a new one is found.",
            "Reconstructed values are marked, such as a lost shard refilled from 16-bit weights or from "
            "another tag: DST/TAG/repair.json lists them, `inspect` shows them, and `verify` refuses them "
            "without --allow-marked."},
        .positionals
        = {{.name = "SRC", .kind = ValueKind::Path, .help = "The checkpoint to repair: a run or tag folder."},
            {.name = "DST", .kind = ValueKind::NewFolder, .help = "The run folder to write into."}},
        .options
        = joined(joined(optionsOf<RepairOptions>(), {undoOption()}), joined(writeOptions(), tagOptions())),
        .commonOptions = outputOptions(),
        .examples
        = {{"shardscope repair runs/llama runs/repaired --fix all --dry-run", "What could be repaired?"},
            {"shardscope repair runs/llama runs/repaired --fix rank-missing", "Refill a lost shard:"},
            {"shardscope repair runs/llama runs/repaired --fix L6 --moments zeros",
                "Reset its moments to zero:"},
            {"shardscope repair --undo runs/repaired runs/again", "Restore the source, byte by byte:"}},
        .run = runRepair,
        .values = Command::Values::Needed,
        .resumes = true,
        .isJob = true,
    };
}

} // namespace shardscope::cli
