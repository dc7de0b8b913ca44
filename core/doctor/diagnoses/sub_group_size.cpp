// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// ZeRO-3: what the configuration says and how shards are cut differ, or it says nothing.
extern const Diagnosis kSubGroupSize;
const Diagnosis kSubGroupSize{
    .code = code::kSubGroupSize,
    .name = "The sub-group size is inferred",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "Stock DeepSpeed cuts its buffers by its configuration and loads only "
                         "shards that were cut alike.",
        .resuming = "Set the same `sub_group_size` in the new configuration."},
    .remedy = "reshard with the `--sub-group-size` that the new run uses",
};

} // namespace shardscope::diagnosis
