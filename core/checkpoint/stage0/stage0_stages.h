// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/units/stage0_evidence.h"

#include <deque>
#include <memory>

namespace shardscope {

/// Which tensors of the layer files each pipeline stage trains, for a run without ZeRO. No file records this.
/// A stage has consecutive layers (runtime/pipe/module.py, _partition_layers) and the tied modules that it
/// uses. Its optimizer must have a parameter for each of their tensors.
struct Stage0Stages {
    std::deque<std::string> names; ///< storage for the names in the tensors
    std::vector<std::vector<ModuleTensor>> ofRank; ///< by model-parallel rank, in the order of the stage
};

/// Loads the model files of all ranks and all layer files. No file records the key of a tied module, so it is
/// named after the first layer that uses it. Null if this is not such a checkpoint. An error with the code
/// Unsupported says why the stages cannot be determined. All other errors mean damage.
Result<std::shared_ptr<const Stage0Stages>> findStage0Stages(
    Reading& reading, const ParallelDegrees& degrees);
/// Passes them to the reading of one model-parallel rank, or the reason why there are none.
void takeStage0Stage(
    Reading& reading, const Result<std::shared_ptr<const Stage0Stages>>& stages, uint32_t rank);

} // namespace shardscope
