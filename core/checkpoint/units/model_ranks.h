// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// How many model-parallel ranks saved together: from file names, and from rank 0's model file.
uint32_t countModelRanks(const Reading& reading);
/// Files of model-parallel ranks beyond those that saved become Stale, with a finding.
void markBeyondModelRanks(const Reading& reading, uint32_t modelRanks);
/// Where a model-parallel rank stands, of so many.
ParallelDegrees modelParallelDegrees(const Reading& reading, uint32_t modelRanks);
/// What a model-parallel rank has in common with the whole, before anything of it is read.
Checkpoint partOf(const Checkpoint& whole, uint32_t rank);
/// A slice or stage without any optimizer file. True where such files are missing: then there is no model of
/// it. Else it was saved without ZeRO.
bool refuseWithoutShards(Reading& reading);
/// Whether a stage holds the optimizer's state in its model file and its weights in the files of its layers.
/// Under bf16 its ranks save optimizer files besides (runtime/engine.py, _save_checkpoint).
bool isStage0OfStages(const Reading& reading);

} // namespace shardscope
