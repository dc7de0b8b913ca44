// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Something in the folder that belongs to no checkpoint of DeepSpeed.
extern const Diagnosis kForeignFile;
const Diagnosis kForeignFile{
    .code = code::kForeignFile,
    .letter = "F4",
    .name = "Not a file of this checkpoint",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "Stock DeepSpeed reads every file with a name of its own and fails on "
                         "others' content.",
        .exporting = "Tools that take all files of a folder stop."},
    .noRemedy = "what it should have been is not known from it; fetch the real file, or "
                "remove it",
    .threads = "mlfoundations/task_vectors#11, lppllppl920/EndoscopyDepthEstimation-"
               "Pytorch#30",
};

} // namespace shardscope::diagnosis
