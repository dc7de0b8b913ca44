// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/shared_options.h"
#include "core/plan/target/reshard_options.h"

#include <iterator>

namespace shardscope {

namespace {

std::vector<std::string> stage0Forms()
{
    std::vector<std::string> out;
    for (const CheckpointKind form :
        {CheckpointKind::Torch, CheckpointKind::Fp16, CheckpointKind::Fp16Unfused})
        out.emplace_back(kindName(form));
    return out;
}

/// The ranks and the form of the result.
OptionFields formFields(ReshardOptions& of)
{
    return {
        {.key = "world_size",
            .value = &of.worldSize,
            .option = {.name = "--world-size",
                .letter = 'w',
                .kind = ValueKind::Count,
                .valueName = "N",
                .help = "The number of ranks of the result (GPUs, torch's WORLD_SIZE). Required.",
                .required = true,
                .minimum = 1},
            .text = "0 for a universal checkpoint",
            .always = true,
            .inFacts = true},
        {.key = "form", // the command line has a verb for it
            .value = OptionWord{[&of] { return of.form == TargetForm::Universal ? "universal" : ""; },
                [&of](const std::string&) { of.form = TargetForm::Universal; }, {"universal"}},
            .inFacts = true},
        {.key = "stage",
            .value = &of.stage,
            .option = {.name = "--stage",
                .kind = ValueKind::Count,
                .valueName = "S",
                .help = "The ZeRO stage of the result: 0 (no ZeRO), 1, 2 or 3. Default: the stage of the "
                        "source; for a universal source, the stage that it was made from.",
                .maximum = 3},
            .inFacts = true},
        {.key = "stage0_form",
            .value = OptionWord{[&of] { return std::string(of.stage0Form ? kindName(*of.stage0Form) : ""); },
                [&of](const std::string& word) { of.stage0Form = stage0FormOf(word); }, stage0Forms()},
            .option = {.name = "--stage0-form",
                .kind = ValueKind::Choice,
                .valueName = "FORM",
                .help = "The form of the optimizer state in stage 0: torch (a run in fp32), fp16 (16 bits "
                        "with FusedAdam) or fp16-unfused (16 bits with any other optimizer). Default: "
                        "derived from precision and options of the source.",
                .choices = stage0Forms()},
            .inFacts = true},
    };
}

/// How its optimizer state is stored.
OptionFields storageFields(ReshardOptions& of)
{
    return {
        {.key = "optimizer_options",
            .value = &of.optimizerOptions,
            .option = {.name = "--optimizer-option",
                .kind = ValueKind::Text,
                .valueName = "OPTION",
                .help = "A param group option that the source does not hold (elastic checkpoints hold none), "
                        "as KEY=VALUE, or GROUP:KEY=VALUE for one group: lr=1e-3, 1:weight_decay=0.0. Values "
                        "are written as in Python. The learning rate is read from the scheduler's state if "
                        "it is recorded there; with one param group, the rest is read from ds_config. If an "
                        "option is missing, the error names it. Can be repeated.",
                .repeats = true},
            .text = "[GROUP:]KEY=VALUE, of options that the source does not hold",
            .plain = true,
            .idMark = ""},
        {.key = "row_major",
            .value = &of.rowMajor,
            .option = {.name = "--row-major",
                .help = "Write matrices row by row in stage 1 or 2, for a run without ZenFlow or with "
                        "ZenFlow of 0.19.8, when the source stores them column by column (ZenFlow up to "
                        "DeepSpeed 0.19.6). Other stages always store them row by row."},
            .text = "a source that stores matrices column by column (ZenFlow), written row by row",
            .idMark = "|row-major"},
        {.key = "sub_group_size",
            .value = &of.subGroupSize,
            .option = {.name = "--sub-group-size",
                .kind = ValueKind::Count,
                .valueName = "M",
                .help = "The sub_group_size of the new run (ZeRO-3), in elements. The result is split for "
                        "it. Default: the value of the source, else 1000000000.",
                .minimum = 1},
            .always = true,
            .inFacts = true},
    };
}

/// Tensor slices.
OptionFields sliceFields(ReshardOptions& of)
{
    return {
        {.key = "tp",
            .value = &of.tp,
            .option = {.name = "--tp",
                .kind = ValueKind::Count,
                .valueName = "T",
                .help = "Tensor-parallel degree of the result. Slices are merged and split as the run "
                        "recorded it, or as --patterns says. Default: the source's degree.",
                .minimum = 1},
            .inFacts = true},
        patternsField(of.patterns),
        {.key = "padded_vocab_size",
            .value = &of.paddedVocabulary,
            .option = {.name = "--padded-vocab-size",
                .kind = ValueKind::Count,
                .valueName = "ROWS",
                .help = "Rows of the vocabulary tensors in the result, padding included, over all tensor "
                        "slices. Required when the source has padding. Padding rows are zero.",
                .minimum = 1},
            .text = "rows of a vocabulary's tensors in all tensor slices of the target, padding included",
            .idMark = "|v"},
    };
}

/// Pipeline stages and experts.
OptionFields stageFields(ReshardOptions& of)
{
    return {
        {.key = "pp",
            .value = &of.pp,
            .option = {.name = "--pp",
                .kind = ValueKind::Count,
                .valueName = "P",
                .help = "Pipeline-parallel degree of the result. 1 merges all stages; another number needs "
                        "--pp-layers. Default: the source's degree.",
                .minimum = 1},
            .inFacts = true},
        {.key = "stage_layers",
            .value = &of.stageLayers,
            .option = {.name = "--pp-layers",
                .kind = ValueKind::Text,
                .valueName = "LAYERS",
                .help = "Layers of each stage of the result, which no file records: the first layer of "
                        "every stage and then the number of all layers. `module.parts` of the new run's "
                        "PipelineModule lists them: 0,4,7 for seven layers in two stages."},
            .text = "the first layer of every pipeline stage of the target, and the number of all layers",
            .commas = true,
            .idMark = "|l"},
        {.key = "tied_layers",
            .value = &of.tiedLayers,
            .option = {.name = "--pp-tied",
                .kind = ValueKind::Text,
                .valueName = "TIED",
                .help = "With --pp-layers: the layers that use a tied module, as KEY=LAYER,LAYER…: "
                        "embed=0,6. Required when there is a tied module. Can be repeated.",
                .repeats = true},
            .text = "KEY=LAYER,LAYER…: the layers that use a tied module",
            .idMark = "|t"},
        {.key = "ep",
            .value = &of.ep,
            .option = {.name = "--ep",
                .kind = ValueKind::Count,
                .valueName = "E",
                .help = "Expert-parallel degree (ep_size) of the result. It must divide the number of "
                        "experts of every layer. AutoEP experts under ZeRO-3 or in tensor slices keep the "
                        "source's degree. Default: the source's degree.",
                .minimum = 1},
            .inFacts = true},
        tieField(of.ties),
    };
}

} // namespace

OptionFields fieldsOf(ReshardOptions& of)
{
    OptionFields out = formFields(of);
    for (const auto fields : {storageFields, sliceFields, stageFields})
        std::ranges::move(fields(of), std::back_inserter(out));
    out.push_back({.key = "tag_out",
        .value = &of.tagOut,
        .option = {.name = "--tag-out",
            .kind = ValueKind::Text,
            .valueName = "NAME",
            .help = "The tag of the result. Default: the tag of the source. `convert --to universal` appends "
                    "_universal; `--to dcp` has no tag."},
        .inFacts = true});
    out.push_back({.key = "latest",
        .value = &of.writePointer,
        .option
        = {.name = "--no-latest", .help = "Do not write the pointer file (`latest`, `latest_universal`)."},
        .always = true,
        .inverse = true,
        .inFacts = true});
    out.push_back(allowField(of.allow, kAllowHelp));
    return out;
}

} // namespace shardscope
