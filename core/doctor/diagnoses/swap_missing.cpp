// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Swapped sub-groups whose files are absent, too short, or of no known rank.
extern const Diagnosis kSwapMissing;
const Diagnosis kSwapMissing{
    .code = code::kSwapMissing,
    .letter = "N1",
    .name = "States on NVMe are not there",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed goes on with fresh masters and moments for these sub-"
                         "groups, without a word.",
        .resuming = "The loss falls far slower, or jumps.",
        .exporting = "Weights fall back to 16-bit copies."},
    .remedy
    = "name the folder that the run swapped into with `--root`; what is nowhere any more is taken from "
      "another tag or checkpoint into ordinary shards, and marked",
    .repairs = true,
    .threads = "DS#2082, DS#4416, DS#4707",
};

} // namespace shardscope::diagnosis
