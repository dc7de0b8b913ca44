// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Tensors of the optimizer files that swap files stand for.
extern const Diagnosis kSwapCopy;
const Diagnosis kSwapCopy{
    .code = code::kSwapCopy,
    .letter = "N5",
    .name = "Shards hold stand-ins for swapped states",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed's own resume takes the stand-ins.",
        .resuming = "Moments and steps of swapped sub-groups start anew."},
    .remedy = "write the swapped states into ordinary shards of a copy, which any run loads",
    .repairs = true,
    .repairsFrom = Severity::Info,
    .threads = "DS#2272, DS#4565",
};

} // namespace shardscope::diagnosis
