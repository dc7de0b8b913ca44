// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// `shardscope skeleton` made it for a bug report.
extern const Diagnosis kSkeleton;
const Diagnosis kSkeleton{
    .code = code::kSkeleton,
    .name = "A skeleton without values",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It is no checkpoint to load.",
        .resuming = "Training goes on from the checkpoint that it was made of.",
        .exporting = "It has no weights."},
    .noRemedy = "values are where it was made; what needs them was looked at there, and stands in its "
                "check.json",
};

} // namespace shardscope::diagnosis
