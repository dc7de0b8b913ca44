// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Overlapping records, forged sizes, paths that lead out of the archive.
extern const Diagnosis kFileHostile;
const Diagnosis kFileHostile{
    .code = code::kFileHostile,
    .letter = "E2",
    .name = "Built to harm its reader",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Loading it in Python may run code, or exhaust memory.",
        .resuming = "Do not load it.",
        .exporting = "Shardscope reads nothing of it."},
    .noRemedy = "a file like that is not mended; take the checkpoint from a source that you "
                "trust",
    .threads = "public proofs of concept of forged zip files",
};

} // namespace shardscope::diagnosis
