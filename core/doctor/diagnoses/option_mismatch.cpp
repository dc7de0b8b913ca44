// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Param group options or the loss scaler differ between ranks.
extern const Diagnosis kOptionMismatch;
const Diagnosis kOptionMismatch{
    .code = code::kOptionMismatch,
    .name = "Ranks disagree about options or scaler",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed takes each rank's own.",
        .resuming = "Ranks train with different learning rates or scales and drift apart."},
    .remedy = "set the options that most ranks have",
    .repairs = true,
};

} // namespace shardscope::diagnosis
