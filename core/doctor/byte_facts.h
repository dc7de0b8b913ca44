// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_digest.h"
#include "core/compare/digest/tensor_statistics.h"

#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// What reading every byte of a checkpoint has shown.
struct ByteFacts {
    CheckpointScan scan; ///< CRCs; without SHA-256
    std::vector<TensorStatistics> tensors; ///< exact, of every state of every parameter; without histograms
    /// Parameters whose masters, rounded, are not the 16-bit copies beside them, by more than the last bit.
    std::vector<std::string> staleCopies;
};

/// Reads it all. Memory: as scanCheckpoint(), computeStatistics() and diffStates(), and what is kept here.
/// Cancelled; what cannot be read is in the facts.
Result<std::shared_ptr<const ByteFacts>> readByteFacts(
    io::FileSystem& files, const CheckpointPtr& checkpoint, unsigned jobs, JobContext& job);

} // namespace shardscope
