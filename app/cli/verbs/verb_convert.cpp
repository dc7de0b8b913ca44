// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"

namespace shardscope::cli {

namespace {

Result<int> runConvert(Session& session)
{
    SHARDSCOPE_TRY(const WriteJob job, planConvertJob(session));
    return runWriteJob(session, job, "convert");
}

} // namespace

Command convertCommand()
{
    return {
        .name = "convert",
        .summary = "rewrite a checkpoint in another form, with all optimizer states",
        .description
        = {"--to universal writes DST/TAG_universal, one folder that unmodified DeepSpeed loads in "
           "stages 1, 2 and 3 with any number of ranks and \"checkpoint\": "
           "{\"load_universal\": true}, and then DST/latest_universal.",
            "It holds all optimizer states, the options of all param groups, frozen parameters and buffers. "
            "The plan lists what stock DeepSpeed does not load from such a folder. `shardscope reshard` "
            "writes a native checkpoint that keeps all of it.",
            "--to dcp writes DST as a PyTorch Distributed Checkpoint, which torch.distributed.checkpoint "
            "loads into any sharding: model.NAME with the fp32 masters, optim.state.NAME.STATE, steps and "
            "the options of the param groups under the names of get_state_dict(), and the state of the run "
            "under deepspeed.*. DST must be absent or empty then, and no pointer file is written.",
            "The source may be a universal folder that DeepSpeed's own converter made: its parts are "
            "rewritten in this form. For DST and interruptions the rules of `shardscope reshard` apply."},
        .positionals
        = {{.name = "SRC", .kind = ValueKind::Path, .help = "The checkpoint to read: a run or tag folder."},
            {.name = "DST",
                .kind = ValueKind::NewFolder,
                .help = "The run folder to write into. With dcp, the folder to write: absent or empty."}},
        .options = joined(convertOptions(), joined(writeOptions(), checkpointOptions())),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope convert runs/llama runs/llama-u --to universal",
                         "Load in any stage, on any number of GPUs:"},
            {"shardscope convert runs/llama /tmp/x --to universal --dry-run",
                "Show first what would be written:"},
            {"shardscope convert runs/llama llama-dcp --to dcp", "For FSDP and torchtitan:"}},
        .run = runConvert,
        .values = Command::Values::ToRun,
        .resumes = true,
        .isJob = true,
    };
}

} // namespace shardscope::cli
