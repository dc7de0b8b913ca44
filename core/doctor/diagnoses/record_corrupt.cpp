// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A record whose header, length or CRC is wrong.
extern const Diagnosis kRecordCorrupt;
const Diagnosis kRecordCorrupt{
    .code = code::kRecordCorrupt,
    .letter = "F2",
    .name = "A record is damaged",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "torch.load stops where the header is wrong; it does not check sums of "
                         "payloads, and loads wrong numbers without a word.",
        .resuming = "The parameters in this record are not what was saved.",
        .exporting = "They are exported as they lie."},
    .remedy = "refill what the record held on a copy, marked: masters from the 16-bit copies, moments from a "
              "neighbouring tag or another checkpoint",
    .repairs = true,
    .threads = "2U1/Gemma3-Finetune#3, pytorch/pytorch#170244",
};

} // namespace shardscope::diagnosis
