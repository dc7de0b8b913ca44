// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// The content of a swap file is not what this checkpoint can have there.
extern const Diagnosis kSwapMismatch;
const Diagnosis kSwapMismatch{
    .code = code::kSwapMismatch,
    .letter = "N5",
    .name = "Swap files of another state",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed does not compare them.",
        .resuming = "Sub-groups go on from different steps."},
    .remedy
    = "take the folder that was saved with this checkpoint; `--donor` salvages a live folder, marked; "
      "moments that are another tensor's are taken from another tag or checkpoint, and marked",
    .repairs = true,
    .threads = "DS#2272, DS#4998, DS#6963, DS#4565, DS#3376",
};

} // namespace shardscope::diagnosis
