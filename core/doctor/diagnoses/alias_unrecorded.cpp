// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// The module lists a name that no shard holds.
extern const Diagnosis kAliasUnrecorded;
const Diagnosis kAliasUnrecorded{
    .code = code::kAliasUnrecorded,
    .letter = "S9",
    .name = "A tie that nobody recorded",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "It loads.", .exporting = "The name is absent from merged weights."},
    .remedy = "name the owner with --tie NAME=OWNER in reshard, convert or export; the model's code shows "
              "which parameter it is",
    .threads = "DS#1896, DS#3033, DS#3824, PL#15694, PL#10964, PL#12230, NVIDIA-"
               "NeMo/Automodel#2511",
};

} // namespace shardscope::diagnosis
