// SPDX-License-Identifier: Apache-2.0

// Room core/doctor/diagnoses/nvme: diagnoses of states in swap files that need code, each in its own file;
// the others are in of_readers/state.cpp. It uses core/doctor. Start with Diagnosis, and with this file as an
// example.

#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !partitionsParameters(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const auto swapped = std::count_if(checkpoint.files.begin(), checkpoint.files.end(),
        [](const CheckpointFile& file) { return file.role == FileRole::Swap; });
    if (swapped > 0)
        sink.add(Severity::Info,
            "optimizer states are in swap files, which no converter of stock DeepSpeed reads", {},
            {std::to_string(swapped) + " swap files of " + std::to_string(checkpoint.parallel.dp)
                + " ranks"});
    return {};
}

} // namespace

/// States are in swap files: only a run with the same number of ranks can read them.
extern const Diagnosis kWorldBoundSwap;
const Diagnosis kWorldBoundSwap{
    .code = "world-bound-swap",
    .letter = "N4",
    .name = "Swap files fix the number of ranks",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed loads it only at this world size, with NVMe offload, and without "
                         "the moments and steps of swapped sub-groups.",
        .resuming = "Resume from ordinary shards, which hold all of it.",
        .exporting = "Weights are exported from the swap files."},
    .remedy = "write ordinary shards, for any number of ranks",
    .command = reshardCommand,
    .threads = "DS#4416, DS#4707, DS#8031",
    .look = look,
};

} // namespace shardscope::diagnosis
