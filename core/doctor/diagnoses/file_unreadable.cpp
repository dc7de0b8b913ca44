// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Opening or reading fails.
extern const Diagnosis kFileUnreadable;
const Diagnosis kFileUnreadable{
    .code = code::kFileUnreadable,
    .name = "A file cannot be read",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed stops at it.",
        .resuming = "What it holds is lost unless the disk or its permissions are mended.",
        .exporting = "What it holds cannot be exported."},
    .noRemedy = "the bytes are out of reach: mend permissions, disk or mount, or copy the "
                "file anew from where it was saved",
};

} // namespace shardscope::diagnosis
