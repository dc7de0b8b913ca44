// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A diagnosis that could not look, for instance because a file cannot be read.
extern const Diagnosis kNotExamined;
const Diagnosis kNotExamined{
    .code = "not-examined",
    .name = "Could not be examined",
    .depth = CheckDepth::Names,
    .worst = Severity::Warning,
    .noRemedy = "nothing is known to be wrong; mend what stopped it and check again",
};

} // namespace shardscope::diagnosis
