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
           "--shard-size, as transformers does: with config.json and the tokenizer's files beside the "
           "checkpoint, which go along, `from_pretrained(DST)` loads it. --format torch writes "
           "pytorch_model.bin in the same way.",
            "--format npy writes a NumPy file for every tensor, DST/NAME.npy, states as DST/STATE/NAME.npy, "
            "and "
            "DST/index.json with the tensors' names, files, dtypes and shapes. In the files' names all but "
            "letters, digits and _ - . is spelled %HH. NumPy has no bfloat16 and no float8: such files hold "
            "the "
            "elements as they are (`V2`, `V1`), as those of ml_dtypes; --dtype fp32 makes numbers of them.",
            "--format adapter writes what PEFT's save_pretrained writes of a LoRA adapter: its matrices, "
            "DoRA "
            "magnitudes, modules_to_save, trained biases and targeted embeddings as "
            "DST/adapter_model.safetensors, and adapter_config.json from beside the checkpoint, or else what "
            "names and shapes tell and --adapter-option adds.",
            "Values come from the fp32 masters, rounded to nearest even, or from the weights where there are "
            "none. Frozen parameters and buffers are among them; of tied parameters the owner is written. "
            "Tensor slices and pipeline stages are joined as for `shardscope convert`.",
            "DST is the target itself. An absent folder appears complete or not at all. In a folder that is "
            "there, files come to their places one by one, the manifest last; --force replaces files of the "
            "names that are written and removes those of an older export, and no others. After an "
            "interruption the same command goes on."},
        .positionals
        = {{.name = "SRC", .kind = ValueKind::Path, .help = "The checkpoint to read: a run or tag folder."},
            {.name = "DST",
                .kind = ValueKind::Folder,
                .help = "The folder to write; it may hold other files."}},
        .options = joined(exportOptions(), joined(writeOptions(), checkpointOptions())),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope export runs/llama llama-bf16 --dtype bf16", "For transformers:"},
            {"shardscope export runs/llama layer0 --only '*.0.*' --states exp_avg",
                "One layer, with Adam's first moments in a file beside it:"},
            {"shardscope export runs/llama-lora lora --format adapter", "For PeftModel.from_pretrained:"}},
        .run = runExport,
        .values = Command::Values::ToRun,
        .resumes = true,
    };
}

} // namespace shardscope::cli
