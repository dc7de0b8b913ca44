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

} // namespace shardscope
