// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Masters do not match the 16-bit copies where the model file says they lie, and do in another order.
extern const Diagnosis kParamOrder;
const Diagnosis kParamOrder{
    .code = code::kParamOrder,
    .letter = "L9",
    .name = "Parameters lie in another order than recorded",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed slices by the recorded order and gives every parameter "
                         "another one's values, without a word.",
        .resuming = "At another world size the loss jumps.",
        .exporting = "Merged weights are scrambled."},
    .remedy = "lay the state out anew in the right order",
    .repairs = true,
    .repairsFrom = Severity::Error,
    .threads = "DS#1999, DS#1822, DS#5283, DS#5342, DS#5395",
};

} // namespace shardscope::diagnosis
