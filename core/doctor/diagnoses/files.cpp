// SPDX-License-Identifier: Apache-2.0

// Folder core/doctor/diagnoses: what a checkpoint can have, each as a row of the table at the end of its
// file: with the function that finds it above, or without one where readers raise it while they open a
// checkpoint. Start with Diagnosis, and with this file as an example: single files, and the disk and memory
// that they need.

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/doctor/check_context.h"
#include "core/doctor/diagnosis_tables.h"
#include "core/doctor/dropped_files.h"
#include "core/doctor/finding_sink.h"
#include "core/torchfile/storage_use.h"

#include <array>

namespace shardscope {

namespace {

/// Files with names of state files but first bytes of another format.
Status findForeignFile(const CheckContext& context, FindingSink& sink)
{
    for (const FileHeader& header : context.headers) {
        if (header.unreadable || header.bytes == 0)
            continue;
        if (const auto foreign = foreignFileFinding(header.name, header.kind))
            sink.add(foreign->severity, foreign->message, foreign->where, foreign->evidence);
    }
    return {};
}

/// A file in the folder that does not belong to a DeepSpeed checkpoint.
constexpr Diagnosis kForeignFile{
    .code = code::kForeignFile,
    .letter = "F4",
    .name = "Not a file of this checkpoint",
    .depth = CheckDepth::Headers,
    .means = {.loading
        = "Stock DeepSpeed reads every file with the name of a state file, and fails on other content.",
        .exporting = "Tools that take all files of a folder stop."},
    .noRemedy = "the original content is not in the file; fetch the right file, or remove this one",
    .threads = "mlfoundations/task_vectors#11, lppllppl920/EndoscopyDepthEstimation-Pytorch#30",
    .look = findForeignFile,
};

/// Checks headers only. Readers report more when they read the file.
Status findFileTorn(const CheckContext& context, FindingSink& sink)
{
    for (const FileHeader& header : context.headers) {
        if (header.bytes == 0 && !header.unreadable)
            sink.add(Severity::Error, "the file is empty", header.name);
        else if (header.noEnd)
            sink.add(
                Severity::Error, header.noEnd->message, header.name, {formatCount(header.bytes) + " bytes"});
    }
    return {};
}

/// The end record of a zip file is missing, or records reach beyond the end of the file.
constexpr Diagnosis kFileTorn{
    .code = code::kFileTorn,
    .letter = "F1",
    .name = "A file is truncated",
    .depth = CheckDepth::Headers,
    .means = {.loading = "torch.load stops: the directory at the end of the zip file is missing.",
        .resuming = "Data after the end of the file is lost; all records before it are complete.",
        .exporting = "Parameters with surviving records can be exported."},
    .remedy = "rebuild the directory from the headers of the records that survived, and refill the rest",
    .repairs = true,
    .threads
    = "LF#6208, PL#20398, kohya-ss/sd-scripts#1245, bmaltais/kohya_ss#2216, sml2h3/dddd_trainer#36, DS#1388",
    .look = findFileTorn,
};

constexpr uint64_t kBlockBytes = 4096;

Status findCutAtBlock(const CheckContext& context, FindingSink& sink)
{
    for (const FileHeader& header : context.headers) {
        const bool empty = header.bytes == 0 && !header.unreadable;
        const bool cut = header.noEnd && header.bytes % kBlockBytes == 0;
        if (!empty && !cut)
            continue;
        std::vector<std::string> evidence{formatCount(header.bytes) + " bytes"};
        if (const auto space = context.files.space(context.found.tagFolder))
            evidence.push_back(formatBytes(space->freeBytes) + " are free on this disk now");
        sink.add(Severity::Warning,
            empty ? "the file is empty: the disk was full, or the save was stopped immediately"
                  : "the file ends at a disk block boundary: the disk was full, or the save was stopped",
            header.name, std::move(evidence));
    }
    return {};
}

/// A truncated file with a size that is zero or a multiple of 4,096 bytes.
constexpr Diagnosis kCutAtBlock{
    .code = "cut-at-block",
    .letter = "F3",
    .name = "Written to a full disk",
    .depth = CheckDepth::Headers,
    .worst = Severity::Warning,
    .means = {.loading = "torch.load stops at the file.",
        .resuming = "The files of the other ranks may be complete, or truncated at the same time."},
    .remedy = "repair the truncated file; this program reports the space that it needs before it writes",
    .threads = "zai-org/ChatGLM-6B#1166, LF#1223, hpcaitech/ColossalAI#5798",
    .look = findCutAtBlock,
};

void add(const CheckpointFile& file, const StorageUse& use, FindingSink& sink)
{
    if (file.status != FileStatus::Ok || !use.isBloated())
        return;
    sink.add(Severity::Info, "most of the file is storage that no tensor uses", file.name,
        {formatBytes(use.storedBytes) + " of storages", formatBytes(use.usedBytes) + " of them are used",
            formatBytes(use.storedBytes - use.usedBytes) + " could be saved"});
}

Status findStorageBloat(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint)
        return {};
    for (const CheckpointFile& file : context.checkpoint->files) {
        if (file.content && file.status == FileStatus::Ok)
            add(file, storageUseOf(*file.content), sink);
    }
    StorageUse use;
    return forEachDroppedFile(
        *context.checkpoint, context.files, context.job, [&](const DroppedFile& dropped) {
            if (!dropped.repeatsPickle) // what is stored and used is in the pickle
                use = storageUseOf(dropped.content);
            add(dropped.file, use, sink);
        });
}

/// Tensors that are views of a large flat buffer and were saved with all of it: the file is much larger than
/// its tensors.
constexpr Diagnosis kStorageBloat{
    .code = "storage-bloat",
    .letter = "F5",
    .name = "Files larger than their tensors",
    .worst = Severity::Info,
    .means = {.loading = "It loads, and needs memory for all of the storage."},
    .remedy = "rewrite it on a copy: this program writes only the tensors",
    .repairs = true,
    .repairsFrom = Severity::Info,
    .threads = "DS#3303, HF#22822, MDS#85, BS-MDS#343, DS#1324, DeeperSpeed#33",
    .look = findStorageBloat,
};

Status findFrozenBloat(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || context.checkpoint->tags.size() < 2)
        return {};
    uint64_t frozen = 0;
    uint64_t trainable = 0;
    for (const Parameter& param : context.checkpoint->params) {
        if (param.sharedWith == kNoParam && param.role != ParamRole::Buffer)
            (param.role == ParamRole::Frozen ? frozen : trainable) += param.elements;
    }
    if (frozen < 4 * trainable)
        return {};
    sink.add(Severity::Info, "every tag repeats the frozen part of the model", {},
        {formatCount(frozen) + " frozen elements, " + formatCount(trainable) + " trainable elements",
            formatCount(context.checkpoint->tags.size()) + " tags"});
    return {};
}

/// A small trained part and a large frozen base, which every save contains again.
constexpr Diagnosis kFrozenBloat{
    .code = "frozen-bloat",
    .letter = "F6",
    .name = "The frozen base in every tag",
    .worst = Severity::Info,
    .means = {.loading = "It loads; `exclude_frozen_parameters` of stock DeepSpeed saves without the base.",
        .resuming = "The base can be loaded from its source."},
    .remedy = "write a copy without it, which loads over the base model; or export an adapter if it is one "
              "(`export --format adapter`)",
    .repairs = true,
    .repairsFrom = Severity::Info,
    .threads = "dreamzero0/dreamzero#90, PL#20949, DS#3437, DS#3953",
    .look = findFrozenBloat,
};

Status findDiskShort(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || !context.target.disk)
        return {};
    uint64_t bytes = 0;
    for (const CheckpointFile& file : context.checkpoint->files)
        bytes += file.identity.bytes;
    SHARDSCOPE_TRY(const io::Space space, context.files.space(*context.target.disk));
    if (space.freeBytes >= 2 * bytes)
        return {};
    const bool copyFits = space.freeBytes >= bytes;
    sink.add(Severity::Warning,
        copyFits ? "a copy fits on the disk, but the stock converter writes everything twice"
                 : "a copy does not fit on the disk",
        {}, {"the checkpoint has " + formatBytes(bytes), formatBytes(space.freeBytes) + " are free"});
    return {};
}

/// A disk with too little free space for a conversion (checkpoint/ds_to_universal.py: fragments, then the
/// merged files).
constexpr Diagnosis kDiskShort{
    .code = "disk-short",
    .letter = "R2",
    .name = "Not enough space on the disk",
    .worst = Severity::Warning,
    .needsTarget = true,
    .means = {.loading = "Loading writes nothing.",
        .exporting = "ds_to_universal.py writes every state as fragments first, then merged."},
    .noRemedy = "free space, or use another disk; this program writes once and reports the size before",
    .threads = "BS-MDS#343",
    .look = findDiskShort,
};

/// zero_to_fp32.py and ds_to_universal.py hold the optimizer files of all ranks, or one process's share of
/// them, and what they build from them (utils/zero_to_fp32.py, parse_optim_states).
Status findMemoryShort(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || !context.target.memoryBytes)
        return {};
    uint64_t shards = 0;
    for (const CheckpointFile& file : context.checkpoint->files)
        shards += file.role == FileRole::OptimStates ? file.identity.bytes : 0;
    if (shards <= *context.target.memoryBytes)
        return {};
    sink.add(Severity::Warning, "tools that load all shards at once need more memory than there is", {},
        {"optimizer files hold " + formatBytes(shards),
            "available memory: " + formatBytes(*context.target.memoryBytes),
            "this program streams, by default with 256 MiB of buffers"});
    return {};
}

/// Shards larger than the memory of the machine that is to convert them.
constexpr Diagnosis kMemoryShort{
    .code = "memory-short",
    .letter = "R1",
    .name = "Not enough memory for stock tools",
    .worst = Severity::Warning,
    .needsTarget = true,
    .means = {.loading = "Each rank of stock DeepSpeed loads its own shard; stage changes load all of them.",
        .exporting = "zero_to_fp32.py runs out of memory."},
    .noRemedy = "the checkpoint is not damaged; use convert or export of this program, which stream the data",
    .threads = "DS#1062, DS#4025, DS#6658, DS#1236, DS#1111, DS#1525, DS#3938, HF#17258, "
               "facebookresearch/metaseq#589, AI-Hypercomputer/maxtext#4071",
    .look = findMemoryShort,
};

constexpr std::array kDiagnoses{
    kForeignFile,
    kFileTorn,
    kCutAtBlock,
    kStorageBloat,
    kFrozenBloat,
    kDiskShort,
    kMemoryShort,
    // Classes in a pickle that no reader interprets.
    Diagnosis{
        .code = code::kPickleOpaque,
        .letter = "E1",
        .name = "Objects of unknown classes",
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
        .silent = true,
        .means = {.loading = "torch.load stops where the header is wrong; it does not check CRCs of "
                             "payloads, and loads wrong numbers silently.",
            .resuming = "The parameters in this record are not what was saved.",
            .exporting = "Stock tools export them unchanged; this program stops at a damaged record that it "
                         "reads."},
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
        .worst = Severity::Warning,
        .means = {.loading = "It may load in stock DeepSpeed."},
        .noRemedy = "this build does not read it; the message says what it is",
    },
    // The file has no CRCs, so damage to payloads cannot be detected.
    Diagnosis{
        .code = code::kRecordUnchecked,
        .name = "Saved without checksums",
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
        .worst = Severity::Warning,
        .means = {.loading = "It loads; the records are never read."},
        .remedy = "write a copy without them; the state is not damaged",
        .repairs = true,
    },
    // `shardscope skeleton` wrote it for a bug report.
    Diagnosis{
        .code = code::kSkeleton,
        .name = "A skeleton without values",
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
        .means = {.loading = "torch.load stops, or the parameter has another shape than the model.",
            .resuming = "The parameter cannot be read.",
            .exporting = "It cannot be exported."},
        .noRemedy = "the correct value is not in the file; take it from another tag",
    },
    // Bytes before, between or after the contents of the file.
    Diagnosis{
        .code = code::kTrailingData,
        .name = "Bytes beyond the end",
        .worst = Severity::Warning,
        .means = {.loading = "torch.load stops if the end record is not within its search range."},
        .remedy = "write a copy without them: they contain no state",
        .repairs = true,
    },
    // Records that do not begin at multiples of 64 bytes, as newer torch writes them.
    Diagnosis{
        .code = code::kUnalignedPayload,
        .name = "Payloads are not aligned",
        .worst = Severity::Warning,
        .means = {.loading = "It loads; mapping the file into memory is slower."},
        .remedy = "write a copy: this program aligns records as torch does",
        .repairs = true,
    },
};

} // namespace

std::span<const Diagnosis> filesDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
