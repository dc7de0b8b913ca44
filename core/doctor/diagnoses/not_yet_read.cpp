// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A first look left it for later.
extern const Diagnosis kNotYetRead;
const Diagnosis kNotYetRead{
    .code = code::kNotYetRead,
    .name = "Not read yet",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .noRemedy = "it will be",
};

} // namespace shardscope::diagnosis
