// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

/// zero_to_fp32.py and ds_to_universal.py hold the optimizer files of all ranks, or one process's share of
/// them, and what they build from them (utils/zero_to_fp32.py, parse_optim_states).
Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || !context.target.memoryBytes)
        return {};
    uint64_t shards = 0;
    for (const CheckpointFile& file : context.checkpoint->files)
        shards += file.role == FileRole::OptimStates ? file.identity.bytes : 0;
    if (shards <= *context.target.memoryBytes)
        return {};
    sink.add(Severity::Warning, "tools that load all shards at once need more memory than there is", {},
        {"optimizer files hold " + formatBytes(shards),
            "available memory: " + formatBytes(*context.target.memoryBytes),
            "this program streams, by default with 256 MiB of buffers"});
    return {};
}

} // namespace

/// Shards larger than the memory of the machine that is to convert them.
extern const Diagnosis kMemoryShort;
const Diagnosis kMemoryShort{
    .code = "memory-short",
    .letter = "R1",
    .name = "Not enough memory for stock tools",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .needsTarget = true,
    .means = {.loading = "Each rank of stock DeepSpeed loads its own shard; stage changes load all of them.",
        .exporting = "zero_to_fp32.py runs out of memory."},
    .noRemedy = "the checkpoint is not damaged; use convert or export of this program, which stream the data",
    .threads = "DS#1062, DS#4025, DS#6658, DS#1236, DS#1111, DS#1525, DS#3938, HF#17258, "
               "facebookresearch/metaseq#589, AI-Hypercomputer/maxtext#4071",
    .look = look,
};

} // namespace shardscope::diagnosis
