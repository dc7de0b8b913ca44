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
    .worst = Severity::Info,
    .means = {.loading = "It loads; the records are never read."},
    .noRemedy = "nothing is wrong with the state; a rewritten copy leaves them out",
};

} // namespace shardscope::diagnosis
