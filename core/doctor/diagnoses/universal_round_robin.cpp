// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A universal folder whose converter cut the flat buffers of a round-robin run in the wrong order.
extern const Diagnosis kUniversalRoundRobin;
const Diagnosis kUniversalRoundRobin{
    .code = code::kUniversalRoundRobin,
    .letter = "S22",
    .name = "A universal folder of a round-robin run, scrambled",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads it without a word.",
        .resuming = "Masters and moments are pieces of other parameters': the loss jumps.",
        .exporting = "Weights made from the masters are scrambled."},
    .remedy = "give every parameter its own elements again: where each lies follows from the shapes and the "
              "source's ranks, and the model file's copies prove it",
    .repairs = true,
    .threads = "reproduced with 0.19.8",
};

} // namespace shardscope::diagnosis
