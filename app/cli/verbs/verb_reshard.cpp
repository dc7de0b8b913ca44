// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"

namespace shardscope::cli {

namespace {

Result<int> runReshard(Session& session)
{
    SHARDSCOPE_TRY(const WriteJob job, planReshardJob(session));
    return runWriteJob(session, job, "reshard");
}

} // namespace

Command reshardCommand()
{
    return {
        .name = "reshard",
        .summary = "rewrite a checkpoint for another number of ranks or another ZeRO stage",
        .description = {"Writes DST/TAG. Unmodified DeepSpeed loads it with engine.load_checkpoint(DST) at N "
                        "ranks, with the same masters, optimizer states, steps, scaler, scheduler and "
                        "options, bit for bit. Then it writes DST/latest. DST may be absent, empty or a run "
                        "folder. Other tags in DST are not changed. DST must be outside SRC.",
            "The plan is printed first: files, exact sizes, free space, pairs of micro-batch size and "
            "accumulation steps that keep the global batch size, configuration values that must not change, "
            "and warnings.",
            "The output appears under its final name only when it is complete, synced and verified. After "
            "any interruption, the same command continues the job and gives the same bytes."},
        .positionals
        = {{.name = "SRC", .kind = ValueKind::Path, .help = "The checkpoint to read: a run or tag folder."},
            {.name = "DST", .kind = ValueKind::NewFolder, .help = "The run folder to write into."}},
        .options = joined(optionsOf<ReshardOptions>(), joined(writeOptions(), checkpointOptions())),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope reshard runs/llama runs/llama-16 --world-size 16", "Resume on 16 GPUs:"},
            {"shardscope reshard runs/llama runs/llama-z3 -w 16 --stage 3", "Resume with ZeRO-3:"},
            {"shardscope reshard runs/llama /tmp/x -w 16 --dry-run", "Show first what would be written:"},
            {"shardscope reshard runs/llama runs/llama-6 -w 6 --sub-group-size 100000000",
                "ZeRO-3, for a run with that sub_group_size:"}},
        .run = runReshard,
        .values = Command::Values::ToRun,
        .resumes = true,
        .isJob = true,
    };
}

} // namespace shardscope::cli
