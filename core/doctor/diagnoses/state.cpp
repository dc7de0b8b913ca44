// SPDX-License-Identifier: Apache-2.0
// Diagnoses of optimizer state and options, also in swap files.
#include "core/base/finding_codes.h"
#include "core/doctor/check_context.h"
#include "core/doctor/diagnosis_tables.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/loader_checks.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace shardscope {

namespace {

bool isInSwapFiles(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    return std::any_of(unit.states.begin(), unit.states.end(), [&](const UnitState& state) {
        return std::any_of(state.perRank.begin(), state.perRank.end(), [&](const StoredRun& run) {
            return run.isPresent() && checkpoint.file(run.file).role == FileRole::Swap;
        });
    });
}

Status findNvmeStateSkew(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !partitionsParameters(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const auto isSubGroup = [](const FlatUnit& unit) { return unit.kind == UnitKind::SubGroup; };
    const auto all = std::count_if(checkpoint.units.begin(), checkpoint.units.end(), isSubGroup);
    const auto swapped = std::count_if(checkpoint.units.begin(), checkpoint.units.end(),
        [&](const FlatUnit& unit) { return isSubGroup(unit) && isInSwapFiles(checkpoint, unit); });
    if (swapped > 0)
        sink.add(Severity::Warning,
            "stock DeepSpeed resumes it silently without moments and steps, and without the sub-groups that "
            "are not in swap files",
            {},
            {std::to_string(swapped) + " of " + std::to_string(all)
                + " sub-groups are in swap files; with NVMe offload DeepSpeed copies these back and does not "
                  "read the optimizer files (runtime/engine.py, load_checkpoint)"});
    return {};
}

/// Optimizer states are in swap files: when stock DeepSpeed resumes with NVMe offload, it loses the rest.
constexpr Diagnosis kNvmeStateSkew{
    .code = "nvme-state-skew",
    .letter = "N5",
    .name = "Resuming with NVMe offload loses optimizer states",
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "With NVMe offload, stock DeepSpeed loads only the masters of swapped sub-groups. "
                         "Smaller sub-groups start from initial values.",
        .resuming = "Moments, steps, the loss scale and the options of param groups start again."},
    .remedy = "write ordinary shards, which hold all of it, and resume from them with CPU offload or none",
    .command = reshardCommand,
    .threads = "DS#2272, DS#4416, DS#4565, DS#3376",
    .look = findNvmeStateSkew,
};

Status findWorldBoundSwap(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !partitionsParameters(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const auto swapped = std::count_if(checkpoint.files.begin(), checkpoint.files.end(),
        [](const CheckpointFile& file) { return file.role == FileRole::Swap; });
    if (swapped > 0)
        sink.add(Severity::Info,
            "optimizer states are in swap files, which no converter of stock DeepSpeed reads", {},
            {std::to_string(swapped) + " swap files of " + std::to_string(checkpoint.parallel.dp)
                + " ranks"});
    return {};
}

/// States are in swap files: only a run with the same number of ranks can read them.
constexpr Diagnosis kWorldBoundSwap{
    .code = "world-bound-swap",
    .letter = "N4",
    .name = "Swap files fix the number of ranks",
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed loads it only at this world size, with NVMe offload, and without "
                         "the moments and steps of swapped sub-groups.",
        .resuming = "Resume from ordinary shards, which hold all of it.",
        .exporting = "Weights are exported from the swap files."},
    .remedy = "write ordinary shards, for any number of ranks",
    .command = reshardCommand,
    .threads = "DS#4416, DS#4707, DS#8031",
    .look = findWorldBoundSwap,
};

/// Attributes of runtime/fp16/loss_scaler.py, DynamicLossScaler.
Status findLossScaleMinimum(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const OptimStates optimizer = optimStates(*context.checkpoint);
    if (!optimizer || isUniversal(context.checkpoint->kind))
        return {};
    const LossScaler scaler = lossScaler(optimizer);
    const auto scale = asNumber(*optimizer.graph, scaler.scale);
    const auto min = asNumber(*optimizer.graph, scaler.minScale);
    const auto overflow = asNumber(*optimizer.graph, scaler.lastOverflow);
    const bool fell = overflow && *overflow >= 0; // it did not start at the minimum
    if (!scale || !min || !fell || *scale > *min)
        return {};
    sink.add(Severity::Warning, "overflows reduced the loss scale to its minimum", optimizer.file->name,
        {fmt::format("cur_scale {}, min_scale {}", *scale, *min),
            fmt::format("last overflow in iteration {}", *overflow)});
    return {};
}

/// A dynamic loss scale that cannot be reduced further.
constexpr Diagnosis kLossScaleMinimum{
    .code = "loss-scale-minimum",
    .letter = "S18",
    .name = "The loss scale is at its minimum",
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "It loads.",
        .resuming
        = "Stock DeepSpeed stops the run at the next overflows, and small gradients are lost before. The "
          "cause of such a low scale is diverged training, or values that are not finite.",
        .exporting = "Weights may be those of a diverged run."},
    .remedy = "set a higher scale if the gradients are finite again (`repair --set scale=N`), or resume from "
              "an earlier step",
    .threads = "fudan-generative-vision/hallo#152, NVIDIA-NeMo/RL#3544, DS#697",
    .look = findLossScaleMinimum,
};

Status findLoaderRefuses(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint)
        return {};
    std::vector<LoaderViolation> violations;
    const Status looked = findLoaderViolations(*context.checkpoint, context.files, context.job, violations);
    for (LoaderViolation& violation : violations) {
        const LoaderCheck& check = loaderCheck(violation.check);
        const Severity severity = violation.bySomeEngines ? Severity::Warning : Severity::Error;
        sink.add(severity, std::move(violation.what), std::move(violation.where),
            {"loader check " + std::to_string(static_cast<int>(check.id)) + " (" + std::string(check.name)
                    + "): " + std::string(check.function),
                "stock DeepSpeed: " + std::string(check.stockSays)});
    }
    return looked;
}

/// Requirements of stock DeepSpeed's loaders that no other diagnosis checks (loader_checks.h).
constexpr Diagnosis kLoaderRefuses{
    .code = shardscope::kLoaderRefuses,
    .name = "Stock DeepSpeed refuses to load it",
    .means = {.loading = "Stock DeepSpeed stops with the exception that the finding names.",
        .resuming = "Training cannot resume from these files.",
        .exporting = "Export does not need what is missing."},
    .remedy = "restore the right file; `reshard` rewrites the list of alignment paddings",
    .look = findLoaderRefuses,
};

constexpr std::array kDiagnoses{
    kNvmeStateSkew,
    kWorldBoundSwap,
    kLossScaleMinimum,
    kLoaderRefuses,
    // Swapped sub-groups with files that are missing, too short, or of an unknown rank.
    Diagnosis{
        .code = code::kSwapMissing,
        .letter = "N1",
        .name = "Swapped states on NVMe are missing",
        .silent = true,
        .means = {.loading
            = "Stock DeepSpeed continues with new masters and moments for these sub-groups, silently.",
            .resuming = "The loss decreases much slower, or jumps.",
            .exporting = "Weights fall back to 16-bit copies."},
        .remedy = "pass the swap folder of the run with `--root`; lost states are taken from another tag or "
                  "checkpoint into ordinary shards, and marked",
        .repairs = true,
        .threads = "DS#2082, DS#4416, DS#4707",
    },
    // The sub-group of a swap file is not certain.
    Diagnosis{
        .code = code::kSwapUnmapped,
        .letter = "N2",
        .name = "Swap files of unknown sub-groups",
        .worst = Severity::Warning,
        .means = {.loading = "Stock DeepSpeed names them by object addresses and cannot find them again."},
        .remedy = "files that sizes, order and 16-bit content identify are used, with the evidence shown; "
                  "others are left out",
        .threads = "DS#4416",
    },
    // Tensors of the optimizer files that swap files replace.
    Diagnosis{
        .code = code::kSwapCopy,
        .letter = "N5",
        .name = "Shards contain placeholders for swapped states",
        .worst = Severity::Info,
        .means = {.loading = "Stock DeepSpeed resumes with the placeholders.",
            .resuming = "Moments and steps of swapped sub-groups start from zero."},
        .remedy = "write the swapped states into ordinary shards of a copy, which any run loads",
        .repairs = true,
        .repairsFrom = Severity::Info,
        .threads = "DS#2272, DS#4565",
    },
    // The content of a swap file cannot belong to this checkpoint.
    Diagnosis{
        .code = code::kSwapMismatch,
        .letter = "N5",
        .name = "Swap files of another state",
        .silent = true,
        .means = {.loading = "Stock DeepSpeed does not compare them.",
            .resuming = "Sub-groups resume from different steps."},
        .remedy = "use the folder that was saved with this checkpoint; `--donor` salvages a live folder, "
                  "marked; moments of a wrong tensor are replaced from another tag or checkpoint, and marked",
        .repairs = true,
        .threads = "DS#2272, DS#4998, DS#6963, DS#4565, DS#3376",
    },
    // More elements than the parameter has: converters of 0.14.5 to 0.19.2 left padding.
    Diagnosis{
        .code = code::kUniversalOverlong,
        .letter = "S3",
        .name = "Universal files are too long",
        .worst = Severity::Warning,
        .means = {.loading = "Stock DeepSpeed stops at the size, or reads only the beginning.",
            .resuming = "The surplus is padding."},
        .remedy = "write a copy with the right length of each parameter",
        .repairs = true,
        .threads = "DS#6918, DS#7426, argonne-lcf/Megatron-DeepSpeed#73, DS#5822",
    },
    // A flat buffer is shorter or longer than shapes, alignment and ranks require.
    Diagnosis{
        .code = code::kStateLength,
        .letter = "S4",
        .name = "Shards do not have the length of the layout",
        .means = {.loading = "Stock DeepSpeed stops at the size, or pads.",
            .resuming = "The rank's shard is incomplete or belongs to another layout.",
            .exporting = "All slices after it are shifted."},
        .remedy = "restore the right file, or refill it on a copy like a missing one",
        .repairs = true,
        .threads = "DS#1317, DS#1372, DS#1165, DS#1412, DS#1009",
    },
    // Ranks, states or counters have different steps.
    Diagnosis{
        .code = code::kStepMismatch,
        .letter = "S6",
        .name = "Steps disagree",
        .silent = true,
        .means = {.loading = "Stock DeepSpeed uses each rank's own step, silently.",
            .resuming
            = "Bias correction differs between parts of the model, or files are from different saves.",
            .exporting = "Weights may be from two steps."},
        .remedy = "set the step that the other ranks and the counters have",
        .repairs = true,
        .threads = "DS#5263, DS#4396, MDS#248, DS#1823, DS#7786, DS#7586",
    },
    // The module lists a name that no shard holds.
    Diagnosis{
        .code = code::kAliasUnrecorded,
        .letter = "S9",
        .name = "A tie is not recorded",
        .worst = Severity::Warning,
        .means = {.loading = "It loads.", .exporting = "The name is missing in merged weights."},
        .remedy = "name the owner with --tie NAME=OWNER in reshard, convert or export; the model's code "
                  "shows which parameter is the owner",
        .threads = "DS#1896, DS#3033, DS#3824, PL#15694, PL#10964, PL#12230, NVIDIA-NeMo/Automodel#2511",
    },
    // Client state or random states that each rank saves separately.
    Diagnosis{
        .code = code::kClientStatePerRank,
        .letter = "S17",
        .name = "State that belongs to one rank each",
        .worst = Severity::Info,
        .means = {.loading = "It loads at the same world size.",
            .resuming = "At another world size, random states or samplers do not fit the ranks."},
        .noRemedy = "random streams for other ranks cannot be computed from the saved ones; choose seeds",
        .threads = "TensorAuto/OpenTau#180, HF#14994, DS#8460, MLM#6858",
    },
    // A universal folder with flat buffers of a round-robin run that the converter split in the wrong order.
    Diagnosis{
        .code = code::kUniversalRoundRobin,
        .letter = "S22",
        .name = "A universal folder of a round-robin run, scrambled",
        .silent = true,
        .means = {.loading = "Stock DeepSpeed loads it silently.",
            .resuming = "Masters and moments contain values of other parameters: the loss jumps.",
            .exporting = "Weights exported from the masters are scrambled."},
        .remedy = "give every parameter its own elements again: the shapes and the source's ranks determine "
                  "their places, and the model file's copies confirm them",
        .repairs = true,
        .threads = "reproduced with 0.19.8",
    },
    // A universal folder in which parameters differ from the source.
    Diagnosis{
        .code = code::kUniversalSource,
        .letter = "S22",
        .name = "The converter lost data of its source",
        .silent = true,
        .means = {.loading = "Stock DeepSpeed loads it silently.",
            .resuming = "Masters are not the trained ones; the loss jumps.",
            .exporting = "Merged weights are scrambled."},
        .remedy = "convert again from the source shards",
        .threads = "reproduced with 0.19.8",
    },
    // A manifest says that something was reconstructed, or written despite a finding.
    Diagnosis{
        .code = code::kMarked,
        .name = "Reconstructed, or written despite a finding",
        .worst = Severity::Warning,
        .means = {.loading = "It loads.",
            .resuming = "What is marked is not what a run saved.",
            .exporting = "Marked weights are exported like all others."},
        .noRemedy
        = "it documents how this was written; of a repaired copy, `repair --undo` returns to the source",
    },
    // Param group options or the loss scaler differ between ranks.
    Diagnosis{
        .code = code::kOptionMismatch,
        .name = "Ranks disagree about options or scaler",
        .silent = true,
        .means = {.loading = "Stock DeepSpeed uses each rank's own.",
            .resuming = "Ranks train with different learning rates or scales and drift apart."},
        .remedy = "set the options that most ranks have; values that an optimizer estimates on every rank "
                  "are left as they are",
        .repairs = true,
        .repairsFrom = Severity::Error,
    },
    // Param group options that this form does not store.
    Diagnosis{
        .code = code::kOptionMissing,
        .name = "Options are not in the checkpoint",
        .worst = Severity::Warning,
        .means = {.loading = "The engine uses the values of its configuration.",
            .resuming = "Values that a schedule changed are lost."},
        .remedy = "name them: `reshard --optimizer-option KEY=VALUE`",
    },
    // A state that other groups, ranks or parameters have.
    Diagnosis{
        .code = code::kStateMissing,
        .name = "Optimizer states are missing",
        .means = {.loading = "Stock DeepSpeed stops, or starts them at zero.",
            .resuming = "Missing moments start from zero.",
            .exporting = "Weights are not affected."},
        .remedy = "fill them with zeros or from a neighbouring tag, marked",
        .repairs = true,
    },
    // Weights alone: the optimizer was not saved, or its files were left out of a copy.
    Diagnosis{
        .code = code::kOptimizerMissing,
        .name = "Weights without an optimizer",
        .means = {.loading = "Stock DeepSpeed stops at the missing files, or loads the weights and starts "
                             "masters and moments again.",
            .resuming = "Training cannot continue from it: masters and moments start again.",
            .exporting = "The 16-bit weights can be exported."},
        .noRemedy = "nothing here has the masters and moments; resume from another tag, fetch the optimizer "
                    "files from where the folder comes from, or use the weights (`shardscope export`)",
        .threads = "DS#7571, DS#7586, DS#7786",
    },
    // Correct data on disk that stock DeepSpeed drops or misreads.
    Diagnosis{
        .code = code::kStockLoaderTrap,
        .name = "Stock DeepSpeed loads it differently",
        .worst = Severity::Warning,
        .silent = true,
        .means = {.loading = "The message says what is lost or fails."},
        .noRemedy = "the message says what to do",
    },
    // A release of DeepSpeed that did not exist when this version was tested.
    Diagnosis{
        .code = code::kNewerRelease,
        .name = "Saved by a newer DeepSpeed than those tested",
        .worst = Severity::Warning,
        .means
        = {.loading = "What is written was tested with the releases that `shardscope --version --json` "
                      "lists, and not with this one."},
        .remedy = "try the copy with the new release before you delete the original; a newer Shardscope may "
                  "know it",
    },
    // ZeRO-3: the shards are not split as the configuration says, or it does not say how.
    Diagnosis{
        .code = code::kSubGroupSize,
        .name = "The sub-group size is inferred",
        .worst = Severity::Warning,
        .means = {.loading = "Stock DeepSpeed splits its buffers by its configuration and loads only shards "
                             "with the same split.",
            .resuming = "Set the same `sub_group_size` in the new configuration."},
        .remedy = "reshard with the `--sub-group-size` that the new run uses",
    },
};

} // namespace

std::span<const Diagnosis> stateDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
