// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Sizes, strides or dtypes that do not fit the bytes that are there.
extern const Diagnosis kTensorInvalid;
const Diagnosis kTensorInvalid{
    .code = code::kTensorInvalid,
    .name = "A tensor contradicts its storage",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "torch.load stops, or the parameter has another shape than the model.",
        .resuming = "The parameter cannot be read.",
        .exporting = "It cannot be exported."},
    .noRemedy = "what it should be is not known from the file; take it from another tag",
};

} // namespace shardscope::diagnosis
