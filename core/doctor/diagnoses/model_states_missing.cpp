// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Optimizer files are there; mp_rank_* or zero_pp_rank_*_model_states.pt of a rank is not.
extern const Diagnosis kModelStatesMissing;
const Diagnosis kModelStatesMissing{
    .code = code::kModelStatesMissing,
    .letter = "L7",
    .name = "Model files are missing",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed opens the model file first and stops without it.",
        .resuming = "Counters, scheduler, buffers and frozen weights are in that file.",
        .exporting = "The shapes of parameters are in that file; shards alone have no names."},
    .remedy = "bring the file; else make it from another tag's, with this one's counters, and with weights "
              "from the masters",
    .repairs = true,
    .threads = "DS#3377, finetrainers#29, DS#1322, DS#7599",
};

} // namespace shardscope::diagnosis
