// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Param group options that this form does not keep.
extern const Diagnosis kOptionMissing;
const Diagnosis kOptionMissing{
    .code = code::kOptionMissing,
    .name = "Options are not in the checkpoint",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "The engine keeps what its configuration gives.",
        .resuming = "Values that a schedule had changed are lost."},
    .remedy = "name them: `reshard --optimizer-option KEY=VALUE`",
};

} // namespace shardscope::diagnosis
