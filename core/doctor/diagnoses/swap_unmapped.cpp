// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Which sub-group a swap file belongs to is not certain.
extern const Diagnosis kSwapUnmapped;
const Diagnosis kSwapUnmapped{
    .code = code::kSwapUnmapped,
    .letter = "N2",
    .name = "Swap files of unknown sub-groups",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "Stock DeepSpeed names them by addresses of objects and cannot find them "
                         "again."},
    .remedy = "where sizes, order and 16-bit content tell, they are used and the evidence is "
              "shown; others are left out",
    .threads = "DS#4416",
};

} // namespace shardscope::diagnosis
