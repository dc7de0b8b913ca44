// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Files of ranks beyond the world size, or of another stage: an earlier save into the same folder.
extern const Diagnosis kStaleFile;
const Diagnosis kStaleFile{
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
};

} // namespace shardscope::diagnosis
