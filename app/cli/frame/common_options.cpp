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
            = "Print neither progress nor warnings, and of commands that write files only the line that says "
              "what was written."},
        {.name = "--verbose", .letter = 'v', .help = "Tell on standard error what is being done."},
        {.name = "--no-color", .help = "No colours; the same as a non-empty NO_COLOR in the environment."},
        {.name = "--progress",
            .kind = ValueKind::Choice,
            .valueName = "MODE",
            .help = "Progress on standard error: a line on a terminal (auto), nothing (none), or JSON lines "
                    "(json).",
            .choices = {"auto", "none", "json"}},
        {.name = "--log-file",
            .kind = ValueKind::File,
            .valueName = "FILE",
            .help = "Append what is done, with times, to FILE."},
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
            .help = "The tag to open, a folder of the run; without it the one that `latest` names."},
        {.name = "--root",
            .kind = ValueKind::Folder,
            .valueName = "DIR",
            .help = "A further folder that holds ranks of the same checkpoint, as when every node kept its "
                    "own files, or the folder that a run with NVMe offload swaps into. May be given several "
                    "times.",
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
            = "PATH is the folder that a run with NVMe offload swapped into before it ended without a "
              "save, and DIR an earlier ZeRO-3 checkpoint of its model and number of ranks, which tells "
              "names, shapes, steps and options. What comes of it is marked."}});
}

Option jobsOption()
{
    return {.name = "--jobs",
        .letter = 'j',
        .kind = ValueKind::Count,
        .valueName = "N",
        .help = "Worker threads; without it as many as there are processors, at most 16. The result is "
                "the same."};
}

std::vector<Option> computeOptions()
{
    return {
        jobsOption(),
        {.name = "--device",
            .kind = ValueKind::Text,
            .valueName = "DEVICE",
            .help
            = "What does the arithmetic: auto (the default: what a short measurement finds fastest for so "
              "many bytes), cpu, cpu:plain, cpu:torch (LibTorch), cuda (all GPUs) or cuda:I. What is written "
              "is "
              "the same."},
        {.name = "--device-memory",
            .kind = ValueKind::Size,
            .valueName = "SIZE",
            .help = "Memory of each GPU that is used at most; without it 512M."},
    };
}

namespace {

Option patternsOption()
{
    return {.name = "--patterns",
        .kind = ValueKind::File,
        .valueName = "FILE",
        .help = "How tensor slices join and are cut, where the checkpoint does not record it: a JSON "
                "object with the "
                "keys of DeepSpeed's universal_checkpoint_info, which list regular expressions."};
}

Option tieOption()
{
    return {.name = "--tie",
        .kind = ValueKind::Text,
        .valueName = "NAME=OWNER",
        .help
        = "A tie that the checkpoint does not record, as when one module object is registered under two "
          "names: the parameter NAME, which the model lists and no file holds, is OWNER. May be given "
          "several times.",
        .repeats = true};
}

Option allowOption()
{
    return {.name = "--allow",
        .kind = ValueKind::Text,
        .valueName = "CODE",
        .help
        = "Go on although this finding would make the plan refuse; where that is possible, the result is "
          "marked. May be given several times.",
        .repeats = true};
}

/// What all verbs take that write a checkpoint.
std::vector<Option> targetOptions()
{
    return {
        {.name = "--tag-out",
            .kind = ValueKind::Text,
            .valueName = "NAME",
            .help = "The tag of the result; without it the tag of the source."},
        {.name = "--optimizer-option",
            .kind = ValueKind::Text,
            .valueName = "OPTION",
            .help = "An option of the optimizer's param groups that the source does not hold, as elastic "
                    "checkpoints hold none, as KEY=VALUE, or GROUP:KEY=VALUE for one group alone: lr=1e-3, "
                    "1:weight_decay=0.0. What is missing is asked for by name. May be given several times.",
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
                      .help = "The form of the result: universal, or dcp for a PyTorch Distributed "
                              "Checkpoint. Required.",
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
            .help = "The form of the files: safetensors, torch for pytorch_model.bin, npy for a NumPy "
                    "file per tensor, or adapter for a LoRA adapter of PEFT alone. Default: safetensors.",
            .choices = exportFormatNames()},
        {.name = "--dtype",
            .kind = ValueKind::Choice,
            .valueName = "DTYPE",
            .help = "What floating-point weights and buffers are cast to. Without it, or with keep, the "
                    "model's own dtypes.",
            .choices = std::move(dtypes)},
        {.name = "--shard-size",
            .kind = ValueKind::Size,
            .valueName = "SIZE",
            .help
            = "Bytes of tensors in one file at most, such as 2G; a larger tensor has a file of its own. "
              "Without it 5000000000."},
        {.name = "--only",
            .kind = ValueKind::Text,
            .valueName = "PATTERN",
            .help
            = "Export the parameters whose names fit: `*` is any run of characters, `?` any one. May be "
              "given several times.",
            .repeats = true},
        {.name = "--strip-prefix",
            .kind = ValueKind::Text,
            .valueName = "PREFIX",
            .help = "Take PREFIX from the names that begin with it, such as `module.`."},
        {.name = "--rename",
            .kind = ValueKind::Text,
            .valueName = "OLD=NEW",
            .help = "Write NEW for OLD where a name is OLD or goes on with a dot behind it, after "
                    "--strip-prefix. May be given several times; the first that fits counts.",
            .repeats = true},
        {.name = "--states",
            .kind = ValueKind::Text,
            .valueName = "STATES",
            .help = "States to write beside the weights as they are, each in a file (npy: a folder) of its "
                    "name, with commas between them: fp32,exp_avg,exp_avg_sq."},
        {.name = "--adapter-option",
            .kind = ValueKind::Text,
            .valueName = "OPTION",
            .help
            = "With --format adapter, where no adapter_config.json lies beside the checkpoint: an entry "
              "of it as KEY=VALUE, such as lora_alpha=16, which nothing else tells. May be given several "
              "times.",
            .repeats = true},
        patternsOption(),
        tieOption(),
        allowOption(),
    };
}

std::vector<Option> reshardOptions()
{
    return joined(
        {
            {.name = "--world-size",
                .letter = 'w',
                .kind = ValueKind::Count,
                .valueName = "N",
                .help = "The number of ranks (GPUs, torch's WORLD_SIZE) that the result is for. Required.",
                .required = true},
            {.name = "--stage",
                .kind = ValueKind::Count,
                .valueName = "S",
                .help = "The ZeRO stage of the result: 0 (no ZeRO), 1, 2 or 3. Without it the stage of the "
                        "source, or "
                        "the one that a universal source was made from."},
            {.name = "--stage0-form",
                .kind = ValueKind::Choice,
                .valueName = "FORM",
                .help
                = "Stage 0: how the result keeps its optimizer: torch (a run in fp32), fp16 (16 bits with "
                  "FusedAdam) or fp16-unfused (16 bits with any other optimizer). Without it as precision "
                  "and "
                  "options of the source tell.",
                .choices = {"torch", "fp16", "fp16-unfused"}},
            {.name = "--tp",
                .kind = ValueKind::Count,
                .valueName = "T",
                .help
                = "Tensor-parallel degree of the result; without it the source's. Slices are joined and "
                  "cut as the run recorded that they belong together, or as --patterns says."},
            {.name = "--padded-vocab-size",
                .kind = ValueKind::Count,
                .valueName = "ROWS",
                .help
                = "Rows of the vocabulary's tensors in all tensor slices of the result together, padding "
                  "included. Asked for where the source has padding; the rows are zero."},
            {.name = "--pp",
                .kind = ValueKind::Count,
                .valueName = "P",
                .help
                = "Pipeline-parallel degree of the result; without it the source's. 1 joins all stages; "
                  "another number needs --pp-layers."},
            {.name = "--pp-layers",
                .kind = ValueKind::Text,
                .valueName = "LAYERS",
                .help = "Which layers of its PipelineModule each stage of the result has, which no file "
                        "records: the first layer of every stage and the number of all layers, as "
                        "`module.parts` of the new run lists them: 0,4,7 for seven layers in two stages."},
            {.name = "--pp-tied",
                .kind = ValueKind::Text,
                .valueName = "TIED",
                .help
                = "With --pp-layers: the layers that use a tied module, as KEY=LAYER,LAYER…: embed=0,6. "
                  "Asked for where there is one. May be given several times.",
                .repeats = true},
            {.name = "--ep",
                .kind = ValueKind::Count,
                .valueName = "E",
                .help
                = "Expert-parallel degree (ep_size) of the result, which divides every layer's experts; "
                  "without it the source's, which experts of AutoEP keep under ZeRO-3 and in tensor slices."},
            {.name = "--row-major",
                .help = "A source that stores matrices column by column, as ZenFlow does up to DeepSpeed "
                        "0.19.6, in stage 1 or 2: write them row by row, for a run without ZenFlow or with "
                        "that of 0.19.8. Other stages have them so anyway."},
            {.name = "--sub-group-size",
                .kind = ValueKind::Count,
                .valueName = "M",
                .help
                = "ZeRO-3: the sub_group_size that the new run will use, in elements; the result is cut "
                  "for it. Without "
                  "it that of the source, else 1000000000."},
        },
        targetOptions());
}

std::vector<Option> writeOptions()
{
    return joined(
        {
            {.name = "--dry-run", .letter = 'n', .help = "Show the plan and write nothing."},
            {.name = "--force", .letter = 'f', .help = "Replace the target when it exists."},
            {.name = "--no-verify", .help = "Do not re-read and compare what was written."},
            {.name = "--memory-limit",
                .kind = ValueKind::Size,
                .valueName = "SIZE",
                .help = "Payload buffers in all, such as 512M; without it 256M."},
            {.name = "--restart",
                .help = "Discard the work folder of an interrupted run instead of going on from it."},
        },
        computeOptions());
}

Positional pathArgument()
{
    return {.name = "PATH",
        .kind = ValueKind::Path,
        .help
        = "A run folder (with `latest`), a tag folder, the folder of a trainer that wraps DeepSpeed, or one "
          "file of a checkpoint. The level is found."};
}

std::vector<Option> joined(std::vector<Option> first, std::vector<Option> second)
{
    first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
    return first;
}

} // namespace shardscope::cli
