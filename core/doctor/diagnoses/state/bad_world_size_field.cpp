// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/checkpoint/folder/sequence_names.h"
#include "core/checkpoint/model/file_names.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

/// The number of ranks that every optimizer file of the first model-parallel rank records, if exactly that
/// many files are there. Expert param groups have smaller counts; the largest count is that of all ranks.
std::optional<int64_t> countedByFiles(const Checkpoint& checkpoint)
{
    const Checkpoint& first = checkpoint.parts.empty() ? checkpoint : *checkpoint.parts.front();
    int64_t there = 0;
    std::optional<int64_t> counted;
    for (uint32_t i = 0; i < first.files.size(); ++i) {
        const OptimStates file = optimStates(first.file(FileId{i}));
        const auto parsed = parseCheckpointFileName(file.file->name);
        if (!parsed || parsed->role != FileRole::OptimStates || parsed->mp != first.modelRank
            || file.file->status == FileStatus::Missing)
            continue;
        ++there;
        if (!file)
            continue; // of a rank beyond the recorded number, or damaged
        std::optional<int64_t> most = asInteger(*file.graph, file.partitionCount);
        for (const NodeId item : sequenceItems(*file.graph, file.partitionCount))
            most = std::max(most, asInteger(*file.graph, item));
        if (!most || (counted && *counted != *most))
            return std::nullopt;
        counted = most;
    }
    return counted && *counted == there ? counted : std::nullopt;
}

/// Whether there is a model file of a slice or stage beyond `slices`.
bool hasModelFilesBeyond(const Checkpoint& checkpoint, int64_t slices)
{
    return std::any_of(checkpoint.files.begin(), checkpoint.files.end(), [&](const CheckpointFile& file) {
        const auto parsed = parseCheckpointFileName(file.name);
        return parsed && parsed->role == FileRole::ModelStates && parsed->mp >= slices;
    });
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || !hasRankFiles(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ModelStates model = modelStates(checkpoint);
    if (!model)
        return {};
    const auto data = asInteger(*model.graph, model.dpWorldSize);
    const auto counted = countedByFiles(checkpoint);
    // MiCS saves the shards of one of several groups of ranks.
    const bool mayBeMics = partitionsParameters(checkpoint.kind) && data && counted && *data > *counted
        && *data % *counted == 0;
    if (data && counted && *data != *counted && !mayBeMics)
        sink.add(Severity::Error,
            "`dp_world_size` is " + std::to_string(*data) + ", but the optimizer files are those of "
                + std::to_string(*counted) + " ranks",
            model.file->name, {"`partition_count` in each of them is " + std::to_string(*counted)});
    const auto sliced = asInteger(*model.graph, model.mpWorldSize);
    const auto tp = asInteger(*model.graph, model.tpDegree);
    const auto pp = asInteger(*model.graph, model.ppDegree);
    const auto parts = tp && pp ? checkedMultiply(*tp, *pp) : std::nullopt;
    const bool areSequences = sliced && parts && countsSequenceRanks(*parts, *sliced, data.value_or(1))
        && !hasModelFilesBeyond(checkpoint, *sliced);
    if (sliced && tp && pp && parts != *sliced && !areSequences)
        sink.add(Severity::Error,
            "`mp_world_size` is " + std::to_string(*sliced) + ", but the model was saved in "
                + (parts ? std::to_string(*parts) : std::string("too many"))
                + (parts == 1 ? " part" : " parts"),
            model.file->name, {"tp_degree " + std::to_string(*tp) + ", pp_degree " + std::to_string(*pp)});
    return {};
}

} // namespace

/// Recorded numbers of ranks that contradict the files.
extern const Diagnosis kBadWorldSizeField;
const Diagnosis kBadWorldSizeField{
    .code = "bad-world-size-field",
    .letter = "S13",
    .name = "A wrong number of ranks is recorded",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means
    = {.loading = "Stock DeepSpeed compares `dp_world_size` with its own number of ranks, and "
                  "`mp_world_size` with the number of model files, and stops even if every file is there.",
        .resuming = "Nothing is lost: the shards are correct.",
        .exporting = "Export does not need the field."},
    .remedy = "set the number to the one that the files have",
    .repairs = true,
    .threads = "DS#4258, DS#7732",
    .look = look,
};

} // namespace shardscope::diagnosis
