// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A state that other groups, ranks or parameters have.
extern const Diagnosis kStateMissing;
const Diagnosis kStateMissing{
    .code = code::kStateMissing,
    .name = "Optimizer states are missing",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed stops, or begins them at zero.",
        .resuming = "Moments that are not there start anew.",
        .exporting = "Weights are not touched."},
    .remedy = "fill them with zeros or from a neighbouring tag, marked",
    .repairs = true,
};

} // namespace shardscope::diagnosis
