// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A pickle that names functions beyond what tensors and plain objects need.
extern const Diagnosis kPickleDangerous;
const Diagnosis kPickleDangerous{
    .code = code::kPickleDangerous,
    .letter = "E2",
    .name = "Would run code in Python",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Loading it with weights_only=False runs what it names.",
        .resuming = "Do not load it in Python.",
        .exporting = "Shardscope executes nothing and reads tensors as they lie."},
    .remedy = "write the tensors and plain values anew; reshard and convert do, but refuse to"
              " carry such objects along",
    .threads = "scanners of pickles list the same names",
};

} // namespace shardscope::diagnosis
