// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Tag folders are there and no `latest`; seen when the folder is discovered.
extern const Diagnosis kLatestMissing;
const Diagnosis kLatestMissing{
    .code = code::kLatestMissing,
    .letter = "L1",
    .name = "No pointer file",
    .depth = CheckDepth::Names,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed looks for a file `latest` and loads nothing without one, "
                         "unless a tag is named; wrappers then train from the start or stop.",
        .resuming = "Nothing is lost: naming the tag gives the same state.",
        .exporting = "Converters that read `latest` stop."},
    .remedy = "write `latest` with the name of the newest complete tag",
    .repairs = true,
    .threads = "HF#22170, lean-dojo/ReProver#71, allenai/open-instruct#1589, BS-MDS#159, BS-"
               "MDS#164",
};

} // namespace shardscope::diagnosis
