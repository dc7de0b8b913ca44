// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// bf16_zero_* and zero_* optimizer files side by side.
extern const Diagnosis kPrecisionPrefix;
const Diagnosis kPrecisionPrefix{
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
};

} // namespace shardscope::diagnosis
