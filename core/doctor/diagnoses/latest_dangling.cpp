// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// `latest` names what is not there, cannot be read, or is spelled so that stock DeepSpeed looks elsewhere.
extern const Diagnosis kLatestDangling;
const Diagnosis kLatestDangling{
    .code = code::kLatestDangling,
    .letter = "L2",
    .name = "The pointer names no usable tag",
    .depth = CheckDepth::Names,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed fails, or a wrapper starts anew: the named folder is "
                         "absent or holds no state files.",
        .resuming = "The newest complete tag is what to go on from.",
        .exporting = "Converters that read `latest` stop."},
    .remedy = "point `latest` to the newest complete tag",
    .repairs = true,
    .threads = "HF#27820, HF#35580, HF#28027, LF#1860, huggingface/open-r1#553, "
               "modelscope/ms-swift#1132, PL#688, vllm-project/speculators#739, NVIDIA-"
               "NeMo/Automodel#3261",
};

} // namespace shardscope::diagnosis
