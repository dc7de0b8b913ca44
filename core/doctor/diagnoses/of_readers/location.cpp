// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/reader_diagnoses.h"

#include <array>

namespace shardscope {

namespace {

// Where files are, and which of them belong together.
constexpr std::array kDiagnoses{
    // Tag folders are there and no `latest`; seen when the folder is discovered.
    Diagnosis{
        .code = code::kLatestMissing,
        .letter = "L1",
        .name = "No pointer file",
        .depth = CheckDepth::Names,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed looks for a file `latest` and loads nothing without one, "
                             "unless a tag is named; wrappers then train from the start or stop.",
            .resuming = "Nothing is lost: naming the tag gives the same state.",
            .exporting = "Converters that read `latest` stop."},
        .remedy = "write `latest` with the name of the newest complete tag",
        .repairs = true,
        .threads = "HF#22170, lean-dojo/ReProver#71, allenai/open-instruct#1589, BS-MDS#159, BS-"
                   "MDS#164",
    },
    // `latest` names what is not there, cannot be read, or is spelled so that stock DeepSpeed looks
    // elsewhere.
    Diagnosis{
        .code = code::kLatestDangling,
        .letter = "L2",
        .name = "The pointer names no usable tag",
        .depth = CheckDepth::Names,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed fails, or a wrapper starts anew: the named folder is "
                             "absent or holds no state files.",
            .resuming = "The newest complete tag is what to go on from.",
            .exporting = "Converters that read `latest` stop."},
        .remedy = "point `latest` to the newest complete tag",
        .repairs = true,
        .threads = "HF#27820, HF#35580, HF#28027, LF#1860, huggingface/open-r1#553, "
                   "modelscope/ms-swift#1132, PL#688, vllm-project/speculators#739, NVIDIA-"
                   "NeMo/Automodel#3261",
    },
    // A file that lies under the right name and was saved by another rank, step, world size or run.
    Diagnosis{
        .code = code::kRankForeign,
        .letter = "L6",
        .name = "A file of another rank, step or run",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed loads it silently where sizes agree.",
            .resuming = "Part of the model goes on from another state; the loss shows it late or "
                        "never.",
            .exporting = "Merged weights mix two states."},
        .remedy = "bring the right file back; on a copy, files with exchanged names get their own names "
                  "back, and others "
                  "are refilled as missing ones",
        .repairs = true,
        .threads = "DS#1793, DS#5405, EleutherAI/gpt-neox#750",
    },
    // A file that a rank of this world size must have is not there.
    Diagnosis{
        .code = code::kRankMissing,
        .letter = "L6",
        .name = "Files of a rank are missing",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed stops on the ranks whose files it does not find.",
            .resuming = "The masters and optimizer states of these ranks are lost unless another "
                        "folder holds them.",
            .exporting = "Weights that only these ranks hold cannot be exported; ZeRO-1/2 keep "
                         "16-bit copies in the model file."},
        .remedy = "bring the files back from where they were saved (`--root` joins folders), or "
                  "refill them on a copy: from a neighbouring tag, a universal folder or the "
                  "16-bit copies, with what is not the run's own marked",
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
            .resuming = "Nothing, as long as nobody loads at the larger world size.",
            .exporting = "Tools that count files expect more ranks than there are and stop."},
        .remedy = "leave them out of a copy",
        .repairs = true,
        .threads = "DS#1793",
    },
    // bf16_zero_* and zero_* optimizer files side by side.
    Diagnosis{
        .code = code::kMixedPrefix,
        .letter = "L8",
        .name = "Two families of optimizer files",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed takes the family that fits the new run's precision, "
                             "whichever is newer, and at most warns.",
            .resuming = "A run of the other precision goes on from an older state.",
            .exporting = "Scripts take the first family that matches."},
        .remedy = "keep the family that belongs to the model file, and leave the other out of a "
                  "copy",
        .repairs = true,
        .threads = "BS-MDS#280",
    },
    // Masters do not match the 16-bit copies where the model file says they lie, and do in another order.
    Diagnosis{
        .code = code::kParamOrder,
        .letter = "L9",
        .name = "Parameters lie in another order than recorded",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed slices by the recorded order and gives every parameter "
                             "another one's values, silently.",
            .resuming = "At another world size the loss jumps.",
            .exporting = "Merged weights are scrambled."},
        .remedy = "lay the state out anew in the right order",
        .repairs = true,
        .repairsFrom = Severity::Error,
        .threads = "DS#1999, DS#1822, DS#5283, DS#5342, DS#5395",
    },
    // A job was interrupted, or is still running, and its work folder or unfinished file is there.
    Diagnosis{
        .code = code::kWorkFolder,
        .name = "Unfinished work of a job",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed ignores it. Where the files of an export were being moved into "
                             "place, the folder holds files of two exports."},
        .noRemedy
        = "the command that was interrupted continues it; `shardscope clean` lists such folders, and "
          "removes them with --remove",
    },
};

} // namespace

std::span<const Diagnosis> readerLocationDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
