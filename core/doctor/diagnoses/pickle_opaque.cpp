// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Classes in a pickle that no reader here interprets.
extern const Diagnosis kPickleOpaque;
const Diagnosis kPickleOpaque{
    .code = code::kPickleOpaque,
    .letter = "E1",
    .name = "Objects of classes that are not known here",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "Python needs the classes; torch.load with weights_only=True refuses them.",
        .resuming = "They are carried along untouched.",
        .exporting = "They are not exported."},
    .noRemedy = "every file of stock DeepSpeed has some; nothing is wrong",
    .threads = "PL#20643, ms-swift#5808, allenai/open-instruct#673, DS#8500, DS#8502",
};

} // namespace shardscope::diagnosis
