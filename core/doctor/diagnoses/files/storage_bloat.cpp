// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/dropped_files.h"
#include "core/doctor/finding_sink.h"
#include "core/torchfile/storage_use.h"

namespace shardscope::diagnosis {

namespace {

void add(const CheckpointFile& file, const StorageUse& use, FindingSink& sink)
{
    if (file.status != FileStatus::Ok || !use.isBloated())
        return;
    sink.add(Severity::Info, "most of the file is storage that no tensor uses", file.name,
        {formatBytes(use.storedBytes) + " of storages", formatBytes(use.usedBytes) + " of them are used",
            formatBytes(use.storedBytes - use.usedBytes) + " could be saved"});
}

Status look(const CheckContext& context, FindingSink& sink)
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

} // namespace

/// Tensors that are views of a large flat buffer and were saved with all of it: the file is much larger than
/// its tensors.
extern const Diagnosis kStorageBloat;
const Diagnosis kStorageBloat{
    .code = "storage-bloat",
    .letter = "F5",
    .name = "Files larger than their tensors",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It loads, and needs memory for all of the storage."},
    .remedy = "rewrite it on a copy: this program writes only the tensors",
    .repairs = true,
    .repairsFrom = Severity::Info,
    .threads = "DS#3303, HF#22822, MDS#85, BS-MDS#343, DS#1324, DeeperSpeed#33",
    .look = look,
};

} // namespace shardscope::diagnosis
