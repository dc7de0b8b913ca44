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
            "It holds every state of the optimizer, every group's options, frozen parameters and buffers. "
            "What "
            "stock DeepSpeed leaves out when it loads such a folder is named in the plan; `shardscope "
            "reshard` "
            "makes a native checkpoint with all of it.",
            "--to dcp writes DST as a PyTorch Distributed Checkpoint, which torch.distributed.checkpoint "
            "loads "
            "into any sharding: model.NAME with the fp32 masters, optim.state.NAME.STATE, steps and the "
            "options "
            "of the param groups under the names of get_state_dict(), and under deepspeed.* what the run "
            "keeps. "
            "DST is absent or empty then, and no pointer is written.",
            "A universal folder that DeepSpeed's own converter made may be the source: its parts come into "
            "this "
            "form. DST and interruptions are as for `shardscope reshard`."},
        .positionals
        = {{.name = "SRC", .kind = ValueKind::Path, .help = "The checkpoint to read: a run or tag folder."},
            {.name = "DST",
                .kind = ValueKind::Folder,
                .help = "The run folder to write into; for dcp the folder to write, absent or empty."}},
        .options = joined(convertOptions(), joined(writeOptions(), checkpointOptions())),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope convert runs/llama runs/llama-u --to universal",
                         "Load in any stage, on any number of GPUs:"},
            {"shardscope convert runs/llama /tmp/x --to universal --dry-run",
                "See first what would be written:"},
            {"shardscope convert runs/llama llama-dcp --to dcp", "For FSDP and torchtitan:"}},
        .run = runConvert,
        .values = Command::Values::ToRun,
        .resumes = true,
    };
}

} // namespace shardscope::cli
