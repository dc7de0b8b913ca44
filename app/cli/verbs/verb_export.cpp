// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/jobs/export_job.h"
#include "app/cli/verbs/verbs.h"

namespace shardscope::cli {

namespace {

Result<int> runExport(Session& session)
{
    SHARDSCOPE_TRY(const WriteJob job, planExportJob(session));
    return runWriteJob(session, job, "export");
}

} // namespace

Command exportCommand()
{
    return {
        .name = "export",
        .summary = "write the model's weights as files of other tools",
        .description
        = {"--format safetensors writes DST/model.safetensors, or several files and their index above "
           "--shard-size, as transformers does: config.json and the tokenizer's files are copied when they "
           "are next to the checkpoint, and then `from_pretrained(DST)` loads the result. --format torch "
           "writes pytorch_model.bin in the same way.",
            "--format npy writes a NumPy file for every tensor, DST/NAME.npy, states as DST/STATE/NAME.npy, "
            "and DST/index.json with the tensors' names, files, dtypes and shapes. In file names, every "
            "character except letters, digits and _ - . is written as %HH. NumPy has no bfloat16 and no "
            "float8: such files hold the raw elements (`V2`, `V1`), as ml_dtypes writes them; --dtype fp32 "
            "converts them to numbers.",
            "--format adapter writes what PEFT's save_pretrained writes for a LoRA adapter. "
            "DST/adapter_model.safetensors has its matrices, DoRA magnitudes, modules_to_save, trained "
            "biases and targeted embeddings. adapter_config.json is copied from the folder of the "
            "checkpoint; if it is not there, it is derived from names and shapes, and --adapter-option adds "
            "the rest.",
            "Values come from the fp32 masters, rounded to nearest even, or from the weights where there are "
            "no masters. Frozen parameters and buffers are included. Of tied parameters, only the owner is "
            "written. Tensor slices and pipeline stages are merged as for `shardscope convert`.",
            "DST is the target itself. A new folder appears complete or not at all. In an existing folder, "
            "files are moved into place one by one, the manifest last. --force replaces files with the same "
            "names and removes files of an older export, and no others. After an interruption, the same "
            "command continues the job."},
        .positionals
        = {{.name = "SRC", .kind = ValueKind::Path, .help = "The checkpoint to read: a run or tag folder."},
            {.name = "DST",
                .kind = ValueKind::NewFolder,
                .help = "The folder to write; it may hold other files."}},
        .options = joined(optionsOf<ExportOptions>(), joined(writeOptions(), checkpointOptions())),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope export runs/llama llama-bf16 --dtype bf16", "For transformers:"},
            {"shardscope export runs/llama layer0 --only '*.0.*' --states exp_avg",
                "One layer, with Adam's first moments in a second file:"},
            {"shardscope export runs/llama-lora lora --format adapter", "For PeftModel.from_pretrained:"}},
        .run = runExport,
        .values = Command::Values::ToRun,
        .resumes = true,
        .isJob = true,
    };
}

} // namespace shardscope::cli
