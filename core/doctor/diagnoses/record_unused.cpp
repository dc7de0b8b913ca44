// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Records in the archive that the pickle does not refer to.
extern const Diagnosis kRecordUnused;
const Diagnosis kRecordUnused{
    .code = code::kRecordUnused,
    .name = "Records that nothing names",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "It loads; the records are never read."},
    .remedy = "nothing is wrong with the state; leave them out of a copy",
    .repairs = true,
};

} // namespace shardscope::diagnosis
