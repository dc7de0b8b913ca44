// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/report/answers/verify_report.h"

namespace shardscope::cli {

namespace {

Result<int> runVerify(Session& session)
{
    if (session.arguments().has("--patterns") && !session.arguments().has("--against"))
        return fail(ErrorCode::Usage, "--patterns needs --against");
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
    SHARDSCOPE_CHECK(requireVerifiable(session.files(), *opened.checkpoint));
    CheckpointPtr against;
    if (const std::string path = session.arguments().text("--against"); !path.empty()) {
        SHARDSCOPE_TRY(const OpenedCheckpoint other, session.openOther(path, {}));
        against = other.checkpoint;
    }
    SHARDSCOPE_TRY(const unsigned jobs, jobsAsked(session.arguments()));
    SHARDSCOPE_TRY(const std::optional<SliceRules> rules, rulesAsked(session));
    SHARDSCOPE_TRY(const ComputeChoice compute,
        computeAsked(session, ComputeTask::Transform,
            bytesOf(*opened.checkpoint) + (against ? bytesOf(*against) : 0), jobs));
    Workers workers(jobs, *compute.backend);
    workers.shared = session.shared();
    SHARDSCOPE_TRY(VerifyReport report,
        verifyCheckpoint(session.files(), opened.checkpoint, {against, rules ? &*rules : nullptr}, workers,
            session.job()));
    if (!session.arguments().has("--allow-marked"))
        refuseMarked(*opened.checkpoint, report);
    const std::string other = against ? checkpointFolder(*against) : std::string();
    Output& output = session.output();
    if (output.json())
        writeVerifyJson(output.answer(), session.context(opened, &compute), report, other);
    else
        writeVerifyText(output.answer(), output.answerStyle(), session.context(opened), report, other);
    return report.ok ? kExitDone : kExitNo;
}

} // namespace

Command verifyCommand()
{
    return {
        .name = "verify",
        .summary = "read every byte and check it",
        .description = {"Reads every byte and checks the CRC of every record, the structure of every file, "
                        "and the digest of every file against the manifest that Shardscope writes. If there "
                        "is no manifest, it checks only CRCs and structure, and says so.",
            "With --against, every parameter and state is compared with another checkpoint. The numbers of "
            "ranks may differ. The exit status is 1 when something differs or is damaged."},
        .positionals = {pathArgument()},
        .options = joined(
            {{.name = "--allow-marked", .help = "Accept reconstructed values, as in a repaired copy."},
                {.name = "--against",
                    .kind = ValueKind::Path,
                    .valueName = "SRC",
                    .help = "The checkpoint that must hold the same training state: a run or tag folder. Its "
                            "number of ranks may differ."},
                {.name = "--patterns",
                    .kind = ValueKind::File,
                    .valueName = "FILE",
                    .help = "How to merge tensor slices with --against, when the two differ in them and the "
                            "checkpoints do not record it."},
                mpiOption()},
            joined(computeOptions(), checkpointOptions())),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope verify runs/llama", "Is every byte as it was written?"},
            {"shardscope verify runs/llama-16 --against runs/llama", "Do the two hold the same state?"}},
        .run = runVerify,
        .values = Command::Values::Needed,
        .reads = true,
    };
}

} // namespace shardscope::cli
