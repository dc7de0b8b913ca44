// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/reader_diagnoses.h"

#include <array>

namespace shardscope {

namespace {

// Files as such, and the records in them.
constexpr std::array kDiagnoses{
    // Classes in a pickle that no reader here interprets.
    Diagnosis{
        .code = code::kPickleOpaque,
        .letter = "E1",
        .name = "Objects of classes that are not known here",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "Python needs the classes; torch.load with weights_only=True refuses them.",
            .resuming = "They are carried along untouched.",
            .exporting = "They are not exported."},
        .noRemedy = "every file of stock DeepSpeed has some; nothing is wrong",
        .threads = "PL#20643, ms-swift#5808, allenai/open-instruct#673, DS#8500, DS#8502",
    },
    // Overlapping records, forged sizes, paths that lead out of the archive.
    Diagnosis{
        .code = code::kFileHostile,
        .letter = "E2",
        .name = "Built to harm its reader",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Loading it in Python may run code, or exhaust memory.",
            .resuming = "Do not load it.",
            .exporting = "Shardscope reads nothing of it."},
        .noRemedy = "a file like that is not repaired; take the checkpoint from a source that you "
                    "trust",
        .threads = "public proofs of concept of forged zip files",
    },
    // A pickle that names functions beyond what tensors and plain objects need.
    Diagnosis{
        .code = code::kPickleDangerous,
        .letter = "E2",
        .name = "Would run code in Python",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Loading it with weights_only=False runs what it names.",
            .resuming = "Do not load it in Python.",
            .exporting = "Shardscope executes nothing and reads tensors as they lie."},
        .remedy = "write the tensors and plain values anew; reshard and convert do, but refuse to"
                  " carry such objects along",
        .threads = "scanners of pickles list the same names",
    },
    // A record whose header, length or CRC is wrong.
    Diagnosis{
        .code = code::kRecordCorrupt,
        .letter = "F2",
        .name = "A record is damaged",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "torch.load stops where the header is wrong; it does not check sums of "
                             "payloads, and loads wrong numbers silently.",
            .resuming = "The parameters in this record are not what was saved.",
            .exporting = "They are exported as they lie."},
        .remedy
        = "refill what the record held on a copy, marked: masters from the 16-bit copies, moments from a "
          "neighbouring tag or another checkpoint",
        .repairs = true,
        .threads = "2U1/Gemma3-Finetune#3, pytorch/pytorch#170244",
    },
    // The pickle names a storage that the archive does not hold.
    Diagnosis{
        .code = code::kRecordMissing,
        .letter = "F2",
        .name = "A record is missing",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .means = {.loading = "torch.load stops at the first tensor that needs it.",
            .resuming = "What it held is lost.",
            .exporting = "What it held cannot be exported."},
        .remedy = "refill it from another source, marked",
        .repairs = true,
        .threads = "2U1/Gemma3-Finetune#3",
    },
    // Opening or reading fails.
    Diagnosis{
        .code = code::kFileUnreadable,
        .name = "A file cannot be read",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .means = {.loading = "Stock DeepSpeed stops at it.",
            .resuming = "What it holds is lost unless the disk or its permissions are repaired.",
            .exporting = "What it holds cannot be exported."},
        .noRemedy = "the bytes are out of reach: repair permissions, disk or mount, or copy the "
                    "file anew from where it was saved",
    },
    // A diagnosis that could not look, for instance because a file cannot be read.
    Diagnosis{
        .code = "not-examined",
        .name = "Could not be examined",
        .depth = CheckDepth::Names,
        .worst = Severity::Warning,
        .noRemedy = "nothing is known to be wrong; repair what stopped it and check again",
    },
    // Recognised, and beyond what this build interprets.
    Diagnosis{
        .code = code::kNotSupported,
        .name = "Not interpreted by this build",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "It may load in stock DeepSpeed."},
        .noRemedy = "this build does not read it; its message says what it is",
    },
    // The file has no CRC, so that damage to payloads cannot be seen.
    Diagnosis{
        .code = code::kRecordUnchecked,
        .name = "Saved without checksums",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "It loads."},
        .remedy = "sums that were not saved cannot be had again; a copy has them from now on",
        .repairs = true,
        .repairsFrom = Severity::Info,
    },
    // Records in the archive that the pickle does not refer to.
    Diagnosis{
        .code = code::kRecordUnused,
        .name = "Records that nothing names",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "It loads; the records are never read."},
        .remedy = "nothing is wrong with the state; leave them out of a copy",
        .repairs = true,
    },
    // `shardscope skeleton` made it for a bug report.
    Diagnosis{
        .code = code::kSkeleton,
        .name = "A skeleton without values",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "It is no checkpoint to load.",
            .resuming = "Training goes on from the checkpoint that it was made of.",
            .exporting = "It has no weights."},
        .noRemedy = "values are where it was made; what needs them was looked at there, and stands in its "
                    "check.json",
    },
    // Sizes, strides or dtypes that do not fit the bytes that are there.
    Diagnosis{
        .code = code::kTensorInvalid,
        .name = "A tensor contradicts its storage",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .means = {.loading = "torch.load stops, or the parameter has another shape than the model.",
            .resuming = "The parameter cannot be read.",
            .exporting = "It cannot be exported."},
        .noRemedy = "what it should be is not known from the file; take it from another tag",
    },
    // Bytes before, between or behind what belongs to the file.
    Diagnosis{
        .code = code::kTrailingData,
        .name = "Bytes beyond the end",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "torch.load finds the end record within its search range, else it stops."},
        .remedy = "leave them out of a copy: nothing of the state is in them",
        .repairs = true,
    },
    // Records that do not begin at multiples of 64 bytes, as newer torch writes them.
    Diagnosis{
        .code = code::kUnalignedPayload,
        .name = "Payloads are not aligned",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "It loads; mapping the file into memory is slower."},
        .remedy = "write a copy: this program aligns records as torch does",
        .repairs = true,
    },
};

} // namespace

std::span<const Diagnosis> readerFileDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
