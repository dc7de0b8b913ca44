// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"

#include "core/plan/export/export.h"

#include <iterator>

namespace shardscope::cli {

std::vector<Option> outputOptions()
{
    return {
        {.name = "--json", .help = "Print the answer as exactly one JSON object on standard output."},
        {.name = "--quiet",
            .letter = 'q',
            .help
            = "Print no progress and no warnings. Commands that write files print at most a line that says "
              "what was written, and `repair` also findings that are still there."},
        {.name = "--verbose", .letter = 'v', .help = "Log each step on standard error."},
        {.name = "--no-color", .help = "Print no colours, as with a non-empty NO_COLOR in the environment."},
        {.name = "--progress",
            .kind = ValueKind::Choice,
            .valueName = "MODE",
            .help = "Progress on standard error: a line on a terminal (auto), nothing (none), or JSON lines "
                    "(json). Default: auto.",
            .choices = {"auto", "none", "json"}},
        {.name = "--bwlimit",
            .kind = ValueKind::Size,
            .valueName = "RATE",
            .help
            = "Read and write at most RATE bytes a second, both together, such as 200M. For file systems "
              "that others use, too. Default: no limit."},
        {.name = "--log-file",
            .kind = ValueKind::NewFile,
            .valueName = "FILE",
            .help = "Append a log with times to FILE."},
        {.name = "--help", .letter = 'h', .help = "Show this text."},
    };
}

std::vector<Option> tagOptions()
{
    return {
        {.name = "--tag",
            .letter = 't',
            .kind = ValueKind::Text,
            .valueName = "TAG",
            .help = "The tag to open, a folder of the run. Default: the tag that `latest` names."},
        {.name = "--root",
            .kind = ValueKind::Folder,
            .valueName = "DIR",
            .help = "Another folder with files of the same checkpoint, for example when every node saved to "
                    "its own disk, or the folder that a run with NVMe offload swaps to (its nvme_path): "
                    "optimizer state that the checkpoint does not hold is read from there. Can be repeated.",
            .repeats = true},
    };
}

std::vector<Option> checkpointOptions()
{
    return joined(tagOptions(),
        {{.name = "--donor",
            .kind = ValueKind::Folder,
            .valueName = "DIR",
            .help
            = "Read a swap folder with an earlier checkpoint: PATH is the folder that a run with NVMe "
              "offload swapped to before it ended without a save. DIR is an earlier ZeRO-3 checkpoint of the "
              "same model and number of ranks; names, shapes, steps and options come from it, and states of "
              "sub-groups that were too small to be swapped. The result is marked."}});
}

Option jobsOption()
{
    return {.name = "--jobs",
        .letter = 'j',
        .kind = ValueKind::Count,
        .valueName = "N",
        .help = "Worker threads. The result is the same for any number. Default: one per processor, at most "
                "16."};
}

std::vector<Option> computeOptions()
{
    return {
        jobsOption(),
        {.name = "--device",
            .kind = ValueKind::Text,
            .valueName = "DEVICE",
            .help
            = "The device for computations: auto, cpu, cpu:plain, cpu:torch (LibTorch), cuda (all GPUs) or "
              "cuda:I. auto takes the fastest for the amount of data, after a short measurement that is kept "
              "in the user's cache; below 2 GiB that is plain code. A named device that does not exist is an "
              "error (exit status 4). If a GPU fails during the work, plain code continues without it. "
              "Files, "
              "digests and counts are the same on all devices; means and norms may differ in the last "
              "digits. Default: auto."},
        {.name = "--device-memory",
            .kind = ValueKind::Size,
            .valueName = "SIZE",
            .help = "Max memory to use on each GPU. Default: 512M."},
    };
}

namespace {

Option patternsOption()
{
    return {.name = "--patterns",
        .kind = ValueKind::File,
        .valueName = "FILE",
        .help = "How to merge and split tensor slices, if the checkpoint does not record it: a JSON object "
                "with the keys of DeepSpeed's universal_checkpoint_info; their values are lists of regular "
                "expressions. `shardscope help resharding` explains them."};
}

Option tieOption()
{
    return {.name = "--tie",
        .kind = ValueKind::Text,
        .valueName = "NAME=OWNER",
        .help
        = "A tie that the checkpoint does not record, for example when one module object is registered under "
          "two names. The model lists the parameter NAME, but no file holds it: it is the same tensor as "
          "OWNER. Can be repeated.",
        .repeats = true};
}

Option allowOption()
{
    return {.name = "--allow",
        .kind = ValueKind::Text,
        .valueName = "CODE",
        .help
        = "Proceed despite this finding, if possible, instead of refusing. The result is marked. Can be "
          "repeated.",
        .repeats = true};
}

/// Options of all verbs that write a checkpoint.
std::vector<Option> targetOptions()
{
    return {
        {.name = "--tag-out",
            .kind = ValueKind::Text,
            .valueName = "NAME",
            .help = "The tag of the result. Default: the tag of the source. `convert --to universal` appends "
                    "_universal; `--to dcp` has no tag."},
        {.name = "--optimizer-option",
            .kind = ValueKind::Text,
            .valueName = "OPTION",
            .help = "A param group option that the source does not hold (elastic checkpoints hold none), as "
                    "KEY=VALUE, or GROUP:KEY=VALUE for one group: lr=1e-3, 1:weight_decay=0.0. Values are "
                    "written as in Python. The learning rate is read from the scheduler's state if it is "
                    "recorded there; with one param group, the rest is read from ds_config. If an option is "
                    "missing, the error names it. Can be repeated.",
            .repeats = true},
        patternsOption(),
        tieOption(),
        {.name = "--no-latest", .help = "Do not write the pointer file (`latest`, `latest_universal`)."},
        allowOption(),
    };
}

} // namespace

std::vector<Option> convertOptions()
{
    return joined({{.name = "--to",
                      .kind = ValueKind::Choice,
                      .valueName = "FORM",
                      .help = "The form of the result: universal, or dcp (PyTorch Distributed Checkpoint). "
                              "Required.",
                      .choices = {"universal", "dcp"},
                      .required = true}},
        targetOptions());
}

std::vector<Option> exportOptions()
{
    std::vector<std::string> dtypes = castNames();
    dtypes.insert(dtypes.begin(), "keep");
    return {
        {.name = "--format",
            .kind = ValueKind::Choice,
            .valueName = "FORMAT",
            .help = "The format of the files: safetensors, torch (pytorch_model.bin), npy (a NumPy file per "
                    "tensor), or adapter (only the LoRA adapter, as PEFT saves it). Default: safetensors.",
            .choices = exportFormatNames()},
        {.name = "--dtype",
            .kind = ValueKind::Choice,
            .valueName = "DTYPE",
            .help = "The dtype to cast floating-point weights and buffers to, from the fp32 masters if there "
                    "are any; keep means the model's own "
                    "dtypes. Default: keep.",
            .choices = std::move(dtypes)},
        {.name = "--shard-size",
            .kind = ValueKind::Size,
            .valueName = "SIZE",
            .help
            = "Max bytes of tensors in one file, such as 2G. A larger tensor gets its own file. Several "
              "files also get an index. Not for npy and adapter. Default: 5000000000."},
        {.name = "--only",
            .kind = ValueKind::Text,
            .valueName = "PATTERN",
            .help
            = "Export only parameters with matching names: `*` matches any characters, `?` one character. "
              "Can be repeated.",
            .repeats = true},
        {.name = "--strip-prefix",
            .kind = ValueKind::Text,
            .valueName = "PREFIX",
            .help = "Remove PREFIX, such as `module.`, from the names that begin with it."},
        {.name = "--rename",
            .kind = ValueKind::Text,
            .valueName = "OLD=NEW",
            .help = "Write NEW instead of OLD in names that are OLD or begin with `OLD.`. This is applied "
                    "after --strip-prefix. Can be repeated; the first match is used.",
            .repeats = true},
        {.name = "--states",
            .kind = ValueKind::Text,
            .valueName = "STATES",
            .help = "States to write in addition to the weights, separated by commas: "
                    "fp32,exp_avg,exp_avg_sq. Each is written unchanged to a file (npy: a folder) with its "
                    "name."},
        {.name = "--adapter-option",
            .kind = ValueKind::Text,
            .valueName = "OPTION",
            .help
            = "With --format adapter, an entry of adapter_config.json as KEY=VALUE, such as lora_alpha=16. "
              "Use it when that file is not next to the checkpoint and the value is not recorded elsewhere; "
              "the error names missing entries. Can be repeated.",
            .repeats = true},
        patternsOption(),
        tieOption(),
        allowOption(),
    };
}

namespace {

/// The parallel degrees of the result, and what the new slices and stages need.
std::vector<Option> parallelOptions()
{
    return {
        {.name = "--tp",
            .kind = ValueKind::Count,
            .valueName = "T",
            .help
            = "Tensor-parallel degree of the result. Slices are merged and split as the run recorded it, "
              "or as --patterns says. Default: the source's degree."},
        {.name = "--padded-vocab-size",
            .kind = ValueKind::Count,
            .valueName = "ROWS",
            .help = "Rows of the vocabulary tensors in the result, padding included, over all tensor slices. "
                    "Required when the source has padding. Padding rows are zero."},
        {.name = "--pp",
            .kind = ValueKind::Count,
            .valueName = "P",
            .help = "Pipeline-parallel degree of the result. 1 merges all stages; another number needs "
                    "--pp-layers. Default: the source's degree."},
        {.name = "--pp-layers",
            .kind = ValueKind::Text,
            .valueName = "LAYERS",
            .help = "Layers of each stage of the result, which no file records: the first layer of every "
                    "stage and then the number of all layers. `module.parts` of the new run's "
                    "PipelineModule lists them: 0,4,7 for seven layers in two stages."},
        {.name = "--pp-tied",
            .kind = ValueKind::Text,
            .valueName = "TIED",
            .help = "With --pp-layers: the layers that use a tied module, as KEY=LAYER,LAYER…: embed=0,6. "
                    "Required when there is a tied module. Can be repeated.",
            .repeats = true},
        {.name = "--ep",
            .kind = ValueKind::Count,
            .valueName = "E",
            .help = "Expert-parallel degree (ep_size) of the result. It must divide the number of experts of "
                    "every layer. AutoEP experts under ZeRO-3 or in tensor slices keep the source's degree. "
                    "Default: the source's degree."},
    };
}

} // namespace

std::vector<Option> reshardOptions()
{
    const std::vector<Option> ranksAndStage = {
        {.name = "--world-size",
            .letter = 'w',
            .kind = ValueKind::Count,
            .valueName = "N",
            .help = "The number of ranks of the result (GPUs, torch's WORLD_SIZE). Required.",
            .required = true},
        {.name = "--stage",
            .kind = ValueKind::Count,
            .valueName = "S",
            .help = "The ZeRO stage of the result: 0 (no ZeRO), 1, 2 or 3. Default: the stage of the "
                    "source; for a universal source, the stage that it was made from."},
        {.name = "--stage0-form",
            .kind = ValueKind::Choice,
            .valueName = "FORM",
            .help = "The form of the optimizer state in stage 0: torch (a run in fp32), fp16 (16 bits with "
                    "FusedAdam) or fp16-unfused (16 bits with any other optimizer). Default: derived from "
                    "precision and options of the source.",
            .choices = {"torch", "fp16", "fp16-unfused"}},
    };
    const std::vector<Option> storage = {
        {.name = "--row-major",
            .help = "Write matrices row by row in stage 1 or 2, for a run without ZenFlow or with "
                    "ZenFlow of 0.19.8, when the source stores them column by column (ZenFlow up to "
                    "DeepSpeed 0.19.6). Other stages always store them row by row."},
        {.name = "--sub-group-size",
            .kind = ValueKind::Count,
            .valueName = "M",
            .help = "The sub_group_size of the new run (ZeRO-3), in elements. The result is split for it. "
                    "Default: the value of the source, else 1000000000."},
    };
    return joined(joined(joined(ranksAndStage, parallelOptions()), storage), targetOptions());
}

Option mpiOption()
{
    return {.name = "--mpi",
        .help
        = "Share the work with the other processes of an MPI job, as in `mpirun -n 8 shardscope --mpi …`. "
          "The first one answers. Needs the module for that MPI."};
}

std::vector<Option> writeOptions()
{
    return joined(
        {
            {.name = "--dry-run", .letter = 'n', .help = "Show the plan and write nothing."},
            {.name = "--force",
                .letter = 'f',
                .help
                = "Replace the target when it exists, also a tag that DeepSpeed wrote. A tag with files "
                  "that neither DeepSpeed nor Shardscope writes is never replaced."},
            {.name = "--no-verify", .help = "Do not read the output again to compare it."},
            {.name = "--sha256",
                .help = "Record SHA-256 of every file in the manifest, which is slower. Default: XXH3-128, "
                        "which finds damage but no intended change."},
            {.name = "--memory-limit",
                .kind = ValueKind::Size,
                .valueName = "SIZE",
                .help = "Total size of payload buffers, such as 512M. Default: 256M."},
            {.name = "--restart",
                .help = "Discard the work folder of an interrupted job and start again. Default: continue "
                        "it."},
            mpiOption(),
            {.name = "--part",
                .kind = ValueKind::Text,
                .valueName = "I/N",
                .help = "Write only part I of N, with I from 0 to N - 1: for job arrays. Run all parts in "
                        "any order on any machines, again after a failure, then the command with --finish."},
            {.name = "--finish",
                .help = "Combine what all parts have written, verify it and publish it. Refused while one is "
                        "missing."},
        },
        computeOptions());
}

Positional pathArgument()
{
    return {.name = "PATH",
        .kind = ValueKind::Path,
        .help
        = "A run folder (with `latest`), a tag folder, the folder of a trainer that wraps DeepSpeed, or one "
          "file of a checkpoint. The level is detected."};
}

std::vector<Option> joined(std::vector<Option> first, std::vector<Option> second)
{
    first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
    return first;
}

} // namespace shardscope::cli
