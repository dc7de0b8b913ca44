// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A universal folder in which parameters do not hold what the source had of them.
extern const Diagnosis kUniversalSource;
const Diagnosis kUniversalSource{
    .code = code::kUniversalSource,
    .letter = "S22",
    .name = "The converter left something of its source",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads it without a word.",
        .resuming = "Masters are not those that were trained; the loss jumps.",
        .exporting = "Merged weights are scrambled."},
    .remedy = "convert again from the source shards",
    .threads = "reproduced with 0.19.8",
};

} // namespace shardscope::diagnosis
