// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Ranks, states or counters have different steps.
extern const Diagnosis kStepMismatch;
const Diagnosis kStepMismatch{
    .code = code::kStepMismatch,
    .letter = "S6",
    .name = "Steps disagree",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed takes each rank's own step, without a word.",
        .resuming = "Bias correction differs between parts of the model, or files are of "
                    "different saves.",
        .exporting = "Weights may mix two steps."},
    .remedy = "set the step that the other ranks and the counters have",
    .repairs = true,
    .threads = "DS#5263, DS#4396, MDS#248, DS#1823, DS#7786, DS#7586",
};

} // namespace shardscope::diagnosis
