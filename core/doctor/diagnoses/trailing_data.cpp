// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Bytes before, between or behind what belongs to the file.
extern const Diagnosis kTrailingData;
const Diagnosis kTrailingData{
    .code = code::kTrailingData,
    .name = "Bytes beyond the end",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "torch.load finds the end record within its search range, else it stops."},
    .remedy = "leave them out of a copy: nothing of the state is in them",
    .repairs = true,
};

} // namespace shardscope::diagnosis
