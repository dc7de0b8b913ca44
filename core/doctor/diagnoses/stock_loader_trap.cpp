// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// What stock DeepSpeed drops or misreads of what is right on disk.
extern const Diagnosis kStockLoaderTrap;
const Diagnosis kStockLoaderTrap{
    .code = code::kStockLoaderTrap,
    .name = "Stock DeepSpeed loads it otherwise",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "Its message says what is lost or stops."},
    .noRemedy = "the message says what helps",
};

} // namespace shardscope::diagnosis
