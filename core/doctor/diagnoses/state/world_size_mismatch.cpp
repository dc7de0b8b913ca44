// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.target.worldSize || !context.hasModel() || !hasRankFiles(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ParallelDegrees& saved = checkpoint.parallel;
    const uint32_t wanted = *context.target.worldSize;
    if (wanted == saved.ranks())
        return {};
    const ModelStates model = modelStates(checkpoint);
    std::string degrees = "saved with dp " + std::to_string(saved.dp);
    if (saved.tp > 1)
        degrees += ", tp " + std::to_string(saved.tp);
    if (saved.pp > 1)
        degrees += ", pp " + std::to_string(saved.pp);
    sink.add(Severity::Error,
        "it was saved by " + std::to_string(saved.ranks()) + " ranks, and the target has "
            + std::to_string(wanted),
        model.file == nullptr ? std::string() : model.file->name, {degrees});
    return {};
}

} // namespace

/// ZeRO shards that were saved with another world size than the target.
extern const Diagnosis kWorldSizeMismatch;
const Diagnosis kWorldSizeMismatch{
    .code = "world-size-mismatch",
    .letter = "S1",
    .name = "Saved for another number of ranks",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .needsTarget = true,
    .means
    = {.loading = "Stock DeepSpeed compares `dp_world_size` with its own number of data-parallel ranks and "
                  "stops with a ZeRORuntimeException. Weights load without masters and moments.",
        .resuming = "With weights only, masters are rounded and moments start at zero.",
        .exporting = "Export does not depend on the number of ranks."},
    .remedy = "reshard it to that number of ranks, or convert it to a universal folder",
    .command = reshardCommand,
    .threads = "DS#2898, DS#3810, DS#6441, MDS#439, DS#3924, DS#7628, THUDM/GLM#136, HF#23152, PL#19585, "
               "ACC#784, DS#8031",
    .look = look,
};

} // namespace shardscope::diagnosis
