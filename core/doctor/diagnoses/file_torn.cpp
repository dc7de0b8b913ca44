// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// The end record of a zip file is missing, or records reach beyond the end of the file.
extern const Diagnosis kFileTorn;
const Diagnosis kFileTorn{
    .code = code::kFileTorn,
    .letter = "F1",
    .name = "A file is cut short",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "torch.load stops: the directory at the end of the zip file is not there.",
        .resuming = "What the cut took is lost; all records before it are whole.",
        .exporting = "Parameters whose records survived can be exported."},
    .remedy = "build the directory again from the headers of the records that survived, and "
              "refill the rest",
    .repairs = true,
    .threads = "LF#6208, PL#20398, kohya-ss/sd-scripts#1245, bmaltais/kohya_ss#2216, "
               "sml2h3/dddd_trainer#36, DS#1388",
};

} // namespace shardscope::diagnosis
