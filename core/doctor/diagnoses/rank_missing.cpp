// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A file that a rank of this world size must have is not there.
extern const Diagnosis kRankMissing;
const Diagnosis kRankMissing{
    .code = code::kRankMissing,
    .letter = "L6",
    .name = "Files of a rank are missing",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed stops on the ranks whose files it does not find.",
        .resuming = "The masters and optimizer states of these ranks are lost unless another "
                    "folder holds them.",
        .exporting = "Weights that only these ranks hold cannot be exported; ZeRO-1/2 keep "
                     "16-bit copies in the model file."},
    .remedy = "bring the files back from where they were saved (`--root` joins folders), or "
              "refill them on a copy: from a neighbouring tag, a universal folder or the "
              "16-bit copies, with what is not the run's own marked",
    .repairs = true,
    .threads = "DS#1793, LF#1253, LF#8098, HuangLK/transpeeder#37, DS#2319",
};

} // namespace shardscope::diagnosis
