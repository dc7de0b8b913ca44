// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A flat buffer is shorter or longer than shapes, alignment and ranks give.
extern const Diagnosis kStateLength;
const Diagnosis kStateLength{
    .code = code::kStateLength,
    .letter = "S4",
    .name = "Shards have another length than the layout",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed stops at the size, or pads.",
        .resuming = "The rank's share is incomplete or belongs to another layout.",
        .exporting = "Slices are shifted from there on."},
    .remedy = "bring the right file back, or refill it on a copy as a missing one",
    .repairs = true,
    .threads = "DS#1317, DS#1372, DS#1165, DS#1412, DS#1009",
};

} // namespace shardscope::diagnosis
