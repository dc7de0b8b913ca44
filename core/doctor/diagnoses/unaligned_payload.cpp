// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Records that do not begin at multiples of 64 bytes, as newer torch writes them.
extern const Diagnosis kUnalignedPayload;
const Diagnosis kUnalignedPayload{
    .code = code::kUnalignedPayload,
    .name = "Payloads are not aligned",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "It loads; mapping the file into memory is slower."},
    .remedy = "write a copy: this program aligns records as torch does",
    .repairs = true,
};

} // namespace shardscope::diagnosis
