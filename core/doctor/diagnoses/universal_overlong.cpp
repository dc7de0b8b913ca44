// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// More elements than the parameter has: converters of 0.14.5 to 0.19.2 left padding.
extern const Diagnosis kUniversalOverlong;
const Diagnosis kUniversalOverlong{
    .code = code::kUniversalOverlong,
    .letter = "S3",
    .name = "Universal files are too long",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "Stock DeepSpeed stops at the size, or takes the beginning.",
        .resuming = "The surplus is padding."},
    .remedy = "write a copy in which each parameter has its own length",
    .repairs = true,
    .threads = "DS#6918, DS#7426, argonne-lcf/Megatron-DeepSpeed#73, DS#5822",
};

} // namespace shardscope::diagnosis
