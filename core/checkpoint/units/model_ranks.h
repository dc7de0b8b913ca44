// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// The number of model-parallel ranks that saved together, from file names and from rank 0's model file.
uint32_t countModelRanks(const Reading& reading);
/// Marks files of model-parallel ranks beyond `modelRanks` as Stale, with a finding.
void markBeyondModelRanks(const Reading& reading, uint32_t modelRanks);
/// The numbers of tensor slices and pipeline stages that make up `modelRanks`, from the model file or from
/// names of layer files.
ParallelDegrees modelParallelDegrees(const Reading& reading, uint32_t modelRanks);
/// What a model-parallel rank shares with the whole, before any of its files is read.
Checkpoint partOf(const Checkpoint& whole, uint32_t rank);
/// For a slice or stage without any optimizer file. True if such files are missing: then no model of it can
/// be built. Else it was saved without ZeRO.
bool refuseWithoutShards(Reading& reading);
/// Whether a stage has the optimizer's state in its model file and its weights in layer files. Under bf16 its
/// ranks also save optimizer files (runtime/engine.py, _save_checkpoint).
bool isStage0OfStages(const Reading& reading);

/// MiCS (runtime/zero/mics.py, DeepSpeed 0.9.3 to 0.19.6) partitions over shard groups of `mics_shard_size`
/// ranks. All groups hold the same data, and only the first one saves (engine.py,
/// is_first_weights_partition_group). Returns the number of ranks in a group, from an optimizer file. Nothing
/// if the run had no shard groups.
std::optional<uint32_t> shardGroupRanks(const Reading& reading, FileId optimFile);

/// The number of data-parallel ranks that a native checkpoint is partitioned over: from its model file, else
/// from the optimizer file `guide`, else the number of optimizer files.
uint32_t findWorldSize(Reading& reading, FileId guide, size_t optimFiles);

} // namespace shardscope
