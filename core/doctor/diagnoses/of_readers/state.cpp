// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/reader_diagnoses.h"

#include <array>

namespace shardscope {

namespace {

// Parameters, optimizer state and options, NVMe swap files among them.
constexpr std::array kDiagnoses{
    // Swapped sub-groups whose files are absent, too short, or of no known rank.
    Diagnosis{
        .code = code::kSwapMissing,
        .letter = "N1",
        .name = "States on NVMe are not there",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed goes on with fresh masters and moments for these sub-"
                             "groups, silently.",
            .resuming = "The loss falls far slower, or jumps.",
            .exporting = "Weights fall back to 16-bit copies."},
        .remedy
        = "name the folder that the run swapped into with `--root`; what is nowhere any more is taken from "
          "another tag or checkpoint into ordinary shards, and marked",
        .repairs = true,
        .threads = "DS#2082, DS#4416, DS#4707",
    },
    // Which sub-group a swap file belongs to is not certain.
    Diagnosis{
        .code = code::kSwapUnmapped,
        .letter = "N2",
        .name = "Swap files of unknown sub-groups",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "Stock DeepSpeed names them by addresses of objects and cannot find them "
                             "again."},
        .remedy = "where sizes, order and 16-bit content tell, they are used and the evidence is "
                  "shown; others are left out",
        .threads = "DS#4416",
    },
    // Tensors of the optimizer files that swap files stand for.
    Diagnosis{
        .code = code::kSwapCopy,
        .letter = "N5",
        .name = "Shards hold stand-ins for swapped states",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "Stock DeepSpeed's own resume takes the stand-ins.",
            .resuming = "Moments and steps of swapped sub-groups start anew."},
        .remedy = "write the swapped states into ordinary shards of a copy, which any run loads",
        .repairs = true,
        .repairsFrom = Severity::Info,
        .threads = "DS#2272, DS#4565",
    },
    // The content of a swap file is not what this checkpoint can have there.
    Diagnosis{
        .code = code::kSwapMismatch,
        .letter = "N5",
        .name = "Swap files of another state",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed does not compare them.",
            .resuming = "Sub-groups go on from different steps."},
        .remedy
        = "take the folder that was saved with this checkpoint; `--donor` salvages a live folder, marked; "
          "moments that are another tensor's are taken from another tag or checkpoint, and marked",
        .repairs = true,
        .threads = "DS#2272, DS#4998, DS#6963, DS#4565, DS#3376",
    },
    // More elements than the parameter has: converters of 0.14.5 to 0.19.2 left padding.
    Diagnosis{
        .code = code::kUniversalOverlong,
        .letter = "S3",
        .name = "Universal files are too long",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "Stock DeepSpeed stops at the size, or takes the beginning.",
            .resuming = "The surplus is padding."},
        .remedy = "write a copy in which each parameter has its own length",
        .repairs = true,
        .threads = "DS#6918, DS#7426, argonne-lcf/Megatron-DeepSpeed#73, DS#5822",
    },
    // A flat buffer is shorter or longer than shapes, alignment and ranks give.
    Diagnosis{
        .code = code::kStateLength,
        .letter = "S4",
        .name = "Shards have another length than the layout",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed stops at the size, or pads.",
            .resuming = "The rank's share is incomplete or belongs to another layout.",
            .exporting = "Slices are shifted from there on."},
        .remedy = "bring the right file back, or refill it on a copy as a missing one",
        .repairs = true,
        .threads = "DS#1317, DS#1372, DS#1165, DS#1412, DS#1009",
    },
    // Ranks, states or counters have different steps.
    Diagnosis{
        .code = code::kStepMismatch,
        .letter = "S6",
        .name = "Steps disagree",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed takes each rank's own step, silently.",
            .resuming = "Bias correction differs between parts of the model, or files are of "
                        "different saves.",
            .exporting = "Weights may mix two steps."},
        .remedy = "set the step that the other ranks and the counters have",
        .repairs = true,
        .threads = "DS#5263, DS#4396, MDS#248, DS#1823, DS#7786, DS#7586",
    },
    // The module lists a name that no shard holds.
    Diagnosis{
        .code = code::kAliasUnrecorded,
        .letter = "S9",
        .name = "A tie that nobody recorded",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "It loads.", .exporting = "The name is absent from merged weights."},
        .remedy
        = "name the owner with --tie NAME=OWNER in reshard, convert or export; the model's code shows "
          "which parameter it is",
        .threads = "DS#1896, DS#3033, DS#3824, PL#15694, PL#10964, PL#12230, NVIDIA-"
                   "NeMo/Automodel#2511",
    },
    // Client state or random states that each rank keeps for itself.
    Diagnosis{
        .code = code::kClientStatePerRank,
        .letter = "S17",
        .name = "State that belongs to single ranks",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "It loads at the same world size.",
            .resuming = "At another one, random states or samplers do not fit the ranks."},
        .noRemedy = "streams for other ranks cannot be computed from those that were saved; "
                    "choose seeds",
        .threads = "TensorAuto/OpenTau#180, HF#14994, DS#8460, MLM#6858",
    },
    // A universal folder whose converter cut the flat buffers of a round-robin run in the wrong order.
    Diagnosis{
        .code = code::kUniversalRoundRobin,
        .letter = "S22",
        .name = "A universal folder of a round-robin run, scrambled",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed loads it silently.",
            .resuming = "Masters and moments are pieces of other parameters': the loss jumps.",
            .exporting = "Weights made from the masters are scrambled."},
        .remedy
        = "give every parameter its own elements again: where each lies follows from the shapes and the "
          "source's ranks, and the model file's copies prove it",
        .repairs = true,
        .threads = "reproduced with 0.19.8",
    },
    // A universal folder in which parameters do not hold what the source had of them.
    Diagnosis{
        .code = code::kUniversalSource,
        .letter = "S22",
        .name = "The converter left something of its source",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed loads it silently.",
            .resuming = "Masters are not those that were trained; the loss jumps.",
            .exporting = "Merged weights are scrambled."},
        .remedy = "convert again from the source shards",
        .threads = "reproduced with 0.19.8",
    },
    // A manifest says that something was reconstructed in spite of a finding.
    Diagnosis{
        .code = code::kMarked,
        .name = "Made, not saved by a run",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "It loads.",
            .resuming = "What is marked is not what the run had.",
            .exporting = "Marked weights are exported like all others."},
        .noRemedy = "it tells the truth about a repaired copy; `repair --undo` goes back to the "
                    "source",
    },
    // Param group options or the loss scaler differ between ranks.
    Diagnosis{
        .code = code::kOptionMismatch,
        .name = "Ranks disagree about options or scaler",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed takes each rank's own.",
            .resuming = "Ranks train with different learning rates or scales and drift apart."},
        .remedy = "set the options that most ranks have",
        .repairs = true,
    },
    // Param group options that this form does not keep.
    Diagnosis{
        .code = code::kOptionMissing,
        .name = "Options are not in the checkpoint",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "The engine keeps what its configuration gives.",
            .resuming = "Values that a schedule had changed are lost."},
        .remedy = "name them: `reshard --optimizer-option KEY=VALUE`",
    },
    // A state that other groups, ranks or parameters have.
    Diagnosis{
        .code = code::kStateMissing,
        .name = "Optimizer states are missing",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed stops, or begins them at zero.",
            .resuming = "Moments that are not there start anew.",
            .exporting = "Weights are not touched."},
        .remedy = "fill them with zeros or from a neighbouring tag, marked",
        .repairs = true,
    },
    // What stock DeepSpeed drops or misreads of what is right on disk.
    Diagnosis{
        .code = code::kStockLoaderTrap,
        .name = "Stock DeepSpeed loads it otherwise",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .silent = true,
        .means = {.loading = "Its message says what is lost or stops."},
        .noRemedy = "the message says what helps",
    },
    // ZeRO-3: what the configuration says and how shards are cut differ, or it says nothing.
    Diagnosis{
        .code = code::kSubGroupSize,
        .name = "The sub-group size is inferred",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "Stock DeepSpeed cuts its buffers by its configuration and loads only "
                             "shards that were cut alike.",
            .resuming = "Set the same `sub_group_size` in the new configuration."},
        .remedy = "reshard with the `--sub-group-size` that the new run uses",
    },
};

} // namespace

std::span<const Diagnosis> readerStateDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
