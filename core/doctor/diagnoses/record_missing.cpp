// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// The pickle names a storage that the archive does not hold.
extern const Diagnosis kRecordMissing;
const Diagnosis kRecordMissing{
    .code = code::kRecordMissing,
    .letter = "F2",
    .name = "A record is missing",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "torch.load stops at the first tensor that needs it.",
        .resuming = "What it held is lost.",
        .exporting = "What it held cannot be exported."},
    .remedy = "refill it from another source, marked",
    .repairs = true,
    .threads = "2U1/Gemma3-Finetune#3",
};

} // namespace shardscope::diagnosis
