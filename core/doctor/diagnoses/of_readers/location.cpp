// SPDX-License-Identifier: Apache-2.0

// Room core/doctor/diagnoses/of_readers: diagnoses that need no code, as tables: readers raise their findings
// while they open a checkpoint. It uses core/{doctor,base}. Start with Diagnosis;
// core/doctor/reader_diagnoses.h declares the tables.

#include "core/base/finding_codes.h"
#include "core/doctor/reader_diagnoses.h"

#include <array>

namespace shardscope {

namespace {

// Where files are, and which of them belong together.
constexpr std::array kDiagnoses{
    // There are tag folders but no `latest`; found by discover().
    Diagnosis{
        .code = code::kLatestMissing,
        .letter = "L1",
        .name = "No pointer file",
        .depth = CheckDepth::Names,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed looks for a file `latest` and loads nothing without it, unless "
                             "a tag is named; wrappers then train from the start or stop.",
            .resuming = "Nothing is lost: load the tag by its name.",
            .exporting = "Converters that read `latest` stop."},
        .remedy = "write `latest` with the name of the newest complete tag",
        .repairs = true,
        .threads = "HF#22170, lean-dojo/ReProver#71, allenai/open-instruct#1589, BS-MDS#159, BS-MDS#164",
    },
    // `latest` names a folder that does not exist, cannot be read, or has a form that makes stock DeepSpeed
    // look elsewhere.
    Diagnosis{
        .code = code::kLatestDangling,
        .letter = "L2",
        .name = "The pointer names no usable tag",
        .depth = CheckDepth::Names,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed fails, or a wrapper trains from the start: the named folder is "
                             "missing or has no state files.",
            .resuming = "Resume from the newest complete tag.",
            .exporting = "Converters that read `latest` stop."},
        .remedy = "point `latest` to the newest complete tag",
        .repairs = true,
        .threads
        = "HF#27820, HF#35580, HF#28027, LF#1860, huggingface/open-r1#553, modelscope/ms-swift#1132, PL#688, "
          "vllm-project/speculators#739, NVIDIA-NeMo/Automodel#3261",
    },
    // A file with the right name that was saved by another rank, step, world size or run.
    Diagnosis{
        .code = code::kRankForeign,
        .letter = "L6",
        .name = "A file of another rank, step or run",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed loads it silently where sizes agree.",
            .resuming = "Part of the model resumes from another state; the loss shows it late or never.",
            .exporting = "Merged weights mix two states."},
        .remedy = "restore the right file; repair on a copy renames files with exchanged names, and refills "
                  "others like missing ones",
        .repairs = true,
        .threads = "DS#1793, DS#5405, EleutherAI/gpt-neox#750",
    },
    // A required file of a rank of this world size is missing.
    Diagnosis{
        .code = code::kRankMissing,
        .letter = "L6",
        .name = "Files of a rank are missing",
        .depth = CheckDepth::Names,
        .countsFiles = true,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed stops on the ranks without files.",
            .resuming
            = "The masters and optimizer states of these ranks are lost unless another folder has them.",
            .exporting = "Weights that only these ranks have cannot be exported; ZeRO-1/2 keep 16-bit copies "
                         "in the model file."},
        .remedy = "copy the files from where they were saved (`--root` adds a folder), or refill them on a "
                  "copy: from a neighbouring tag, a universal folder or the 16-bit copies, with "
                  "reconstructed values marked",
        .repairs = true,
        .threads = "DS#1793, LF#1253, LF#8098, HuangLK/transpeeder#37, DS#2319",
    },
    // Files of ranks beyond the world size, or of another stage: an earlier save into the same folder.
    Diagnosis{
        .code = code::kStaleFile,
        .letter = "L6",
        .name = "Files left by another save",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "Stock DeepSpeed ignores them at this world size.",
            .resuming = "Resuming is not affected, except at the larger world size.",
            .exporting = "Tools that count files expect more ranks than there are and stop."},
        .remedy = "write a copy without them",
        .repairs = true,
        .threads = "DS#1793",
    },
    // Names of Ulysses runs: core/checkpoint/folder/sequence_names.h.
    Diagnosis{
        .code = code::kSequenceNames,
        .letter = "L10",
        .name = "Sequence-parallel ranks in file names",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "DeepSpeed 0.18.4, which writes such names, loads it with the same number of "
                             "sequence-parallel ranks. Releases that look for `mp_rank_00` (0.19.8 does) and "
                             "runs with another number do not find the optimizer files.",
            .resuming = "Nothing is lost: every rank's file is there.",
            .exporting = "Export does not depend on the names."},
        .remedy = "write a copy in which the names of all files contain `mp_rank_00`",
        .repairs = true,
        .repairsFrom = Severity::Info,
        .threads = "DS#7732",
    },
    // bf16_zero_* and zero_* optimizer files side by side.
    Diagnosis{
        .code = code::kMixedPrefix,
        .letter = "L8",
        .name = "Two families of optimizer files",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed takes the family that fits the new run's precision, even if it "
                             "is older, and at most warns.",
            .resuming = "A run with the other precision resumes from an older state.",
            .exporting = "Scripts take the first family that matches."},
        .remedy = "write a copy with only the family that belongs to the model file",
        .repairs = true,
        .threads = "BS-MDS#280",
    },
    // Masters do not match the 16-bit copies in the recorded order, but match in another order.
    Diagnosis{
        .code = code::kParamOrder,
        .letter = "L9",
        .name = "Parameters are in another order than recorded",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed slices by the recorded order and gives parameters the values "
                             "of others, silently.",
            .resuming = "At another world size the loss jumps.",
            .exporting = "Merged weights are scrambled."},
        .remedy = "rewrite the state in the right order",
        .repairs = true,
        .repairsFrom = Severity::Error,
        .threads = "DS#1999, DS#1822, DS#5283, DS#5342, DS#5395",
    },
    // The work folder or unfinished file of a job that was interrupted or is still running.
    Diagnosis{
        .code = code::kWorkFolder,
        .name = "Unfinished work of a job",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed ignores it. If an export was moving its files into place, the "
                             "folder contains files of two exports."},
        .noRemedy = "run the interrupted command again to continue it; `shardscope clean` lists such "
                    "folders, and removes them with --remove",
    },
};

} // namespace

std::span<const Diagnosis> readerLocationDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
