// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// Client state or random states that each rank keeps for itself.
extern const Diagnosis kClientStatePerRank;
const Diagnosis kClientStatePerRank{
    .code = code::kClientStatePerRank,
    .letter = "S17",
    .name = "State that belongs to single ranks",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It loads at the same world size.",
        .resuming = "At another one, random states or samplers do not fit the ranks."},
    .noRemedy = "streams for other ranks cannot be computed from those that were saved; "
                "choose seeds",
    .threads = "TensorAuto/OpenTau#180, HF#14994, DS#8460, MLM#6858",
};

} // namespace shardscope::diagnosis
