// SPDX-License-Identifier: Apache-2.0

// Room core/doctor/diagnoses/environment: diagnoses that depend on the machine or on other tags, not on the
// tag's own content, each in its own file. It uses core/{doctor,base}. Start with Diagnosis, and with this
// file as an example.

#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
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

} // namespace

/// A disk with too little free space for a conversion (checkpoint/ds_to_universal.py: fragments, then the
/// merged files).
extern const Diagnosis kDiskShort;
const Diagnosis kDiskShort{
    .code = "disk-short",
    .letter = "R2",
    .name = "Not enough space on the disk",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .needsTarget = true,
    .means = {.loading = "Loading writes nothing.",
        .exporting = "ds_to_universal.py writes every state as fragments first, then merged."},
    .noRemedy = "free space, or use another disk; this program writes once and reports the size before",
    .threads = "BS-MDS#343",
    .look = look,
};

} // namespace shardscope::diagnosis
