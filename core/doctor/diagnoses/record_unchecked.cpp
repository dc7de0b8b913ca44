// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// The file has no CRC, so that damage to payloads cannot be seen.
extern const Diagnosis kRecordUnchecked;
const Diagnosis kRecordUnchecked{
    .code = code::kRecordUnchecked,
    .name = "Saved without checksums",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It loads."},
    .remedy = "sums that were not saved cannot be had again; a copy has them from now on",
    .repairs = true,
    .repairsFrom = Severity::Info,
};

} // namespace shardscope::diagnosis
