// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A file that lies under the right name and was saved by another rank, step, world size or run.
extern const Diagnosis kRankForeign;
const Diagnosis kRankForeign{
    .code = code::kRankForeign,
    .letter = "L6",
    .name = "A file of another rank, step or run",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads it without a word where sizes agree.",
        .resuming = "Part of the model goes on from another state; the loss shows it late or "
                    "never.",
        .exporting = "Merged weights mix two states."},
    .remedy
    = "bring the right file back; on a copy, files with exchanged names get their own names back, and others "
      "are refilled as missing ones",
    .repairs = true,
    .threads = "DS#1793, DS#5405, EleutherAI/gpt-neox#750",
};

} // namespace shardscope::diagnosis
