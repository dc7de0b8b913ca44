// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Recognised, and beyond what this build interprets.
extern const Diagnosis kNotSupported;
const Diagnosis kNotSupported{
    .code = code::kNotSupported,
    .name = "Not interpreted by this build",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "It may load in stock DeepSpeed."},
    .noRemedy = "this build does not read it; its message says what it is",
};

} // namespace shardscope::diagnosis
