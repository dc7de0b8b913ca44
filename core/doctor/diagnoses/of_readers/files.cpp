// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/reader_diagnoses.h"

#include <array>

namespace shardscope {

namespace {

// Files and the records in them.
constexpr std::array kDiagnoses{
    // Classes in a pickle that no reader interprets.
    Diagnosis{
        .code = code::kPickleOpaque,
        .letter = "E1",
        .name = "Objects of unknown classes",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "Python needs the classes; torch.load with weights_only=True refuses them.",
            .resuming = "They are copied unchanged.",
            .exporting = "They are not exported."},
        .noRemedy = "nothing is wrong: every file of stock DeepSpeed has some",
        .threads = "PL#20643, ms-swift#5808, allenai/open-instruct#673, DS#8500, DS#8502",
    },
    // Overlapping records, forged sizes, paths that lead outside the archive.
    Diagnosis{
        .code = code::kFileHostile,
        .letter = "E2",
        .name = "Malicious file",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Loading it in Python may run code, or exhaust memory.",
            .resuming = "Do not load it.",
            .exporting = "Shardscope does not read it."},
        .noRemedy = "malicious files are not repaired; get the checkpoint from a source that you trust",
        .threads = "public proofs of concept of forged zip files",
    },
    // A pickle that names functions beyond what tensors and plain objects need.
    Diagnosis{
        .code = code::kPickleDangerous,
        .letter = "E2",
        .name = "Runs code when Python loads it",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "Loading it with weights_only=False runs what it names.",
            .resuming = "Do not load it in Python.",
            .exporting = "Shardscope executes nothing and reads only the tensors."},
        .remedy = "rewrite only tensors and plain values; reshard and convert do this, but refuse to copy "
                  "such objects",
        .threads = "scanners of pickles list the same names",
    },
    // A record with a wrong header, length or CRC.
    Diagnosis{
        .code = code::kRecordCorrupt,
        .letter = "F2",
        .name = "A record is damaged",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Error,
        .silent = true,
        .means = {.loading = "torch.load stops where the header is wrong; it does not check CRCs of "
                             "payloads, and loads wrong numbers silently.",
            .resuming = "The parameters in this record are not what was saved.",
            .exporting = "They are exported unchanged."},
        .remedy = "refill the content of the record on a copy, marked: masters from the 16-bit copies, "
                  "moments from a neighbouring tag or another checkpoint",
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
            .resuming = "Its content is lost.",
            .exporting = "Its content cannot be exported."},
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
            .resuming = "Its content is lost unless the disk or its permissions are repaired.",
            .exporting = "Its content cannot be exported."},
        .noRemedy = "the file cannot be read: repair permissions, disk or mount, or copy the file again from "
                    "its source",
    },
    // A diagnosis that could not run, for example because a file cannot be read.
    Diagnosis{
        .code = "not-examined",
        .name = "Could not be examined",
        .depth = CheckDepth::Names,
        .worst = Severity::Warning,
        .noRemedy = "no damage is known; remove the cause in the message and check again",
    },
    // Recognised, but not interpreted by this build.
    Diagnosis{
        .code = code::kNotSupported,
        .name = "Not interpreted by this build",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "It may load in stock DeepSpeed."},
        .noRemedy = "this build does not read it; the message says what it is",
    },
    // The file has no CRCs, so damage to payloads cannot be detected.
    Diagnosis{
        .code = code::kRecordUnchecked,
        .name = "Saved without checksums",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "It loads."},
        .remedy = "write a copy, which has checksums; those of the original cannot be computed",
        .repairs = true,
        .repairsFrom = Severity::Info,
    },
    // Records in the archive that the pickle does not use.
    Diagnosis{
        .code = code::kRecordUnused,
        .name = "Unused records",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "It loads; the records are never read."},
        .remedy = "write a copy without them; the state is not damaged",
        .repairs = true,
    },
    // `shardscope skeleton` wrote it for a bug report.
    Diagnosis{
        .code = code::kSkeleton,
        .name = "A skeleton without values",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Info,
        .means = {.loading = "It cannot be loaded.",
            .resuming = "Resume from the checkpoint that it was made from.",
            .exporting = "It has no weights."},
        .noRemedy = "the values are in the original checkpoint; checks that need values ran there, and their "
                    "results are in check.json",
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
        .noRemedy = "the correct value is not in the file; take it from another tag",
    },
    // Bytes before, between or after the contents of the file.
    Diagnosis{
        .code = code::kTrailingData,
        .name = "Bytes beyond the end",
        .depth = CheckDepth::Metadata,
        .worst = Severity::Warning,
        .means = {.loading = "torch.load stops if the end record is not within its search range."},
        .remedy = "write a copy without them: they contain no state",
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
