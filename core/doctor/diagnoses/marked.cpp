// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A manifest says that something was reconstructed in spite of a finding.
extern const Diagnosis kMarked;
const Diagnosis kMarked{
    .code = code::kMarked,
    .name = "Made, not saved by a run",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "It loads.",
        .resuming = "What is marked is not what the run had.",
        .exporting = "Marked weights are exported like all others."},
    .noRemedy = "it tells the truth about a repaired copy; `repair --undo` goes back to the "
                "source",
};

} // namespace shardscope::diagnosis
