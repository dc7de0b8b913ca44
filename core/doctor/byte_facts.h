// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_digest.h"
#include "core/compare/digest/tensor_statistics.h"

#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// Results of reading every byte of a checkpoint.
struct ByteFacts {
    CheckpointScan scan; ///< CRCs and statistics; without digests of files
    std::vector<TensorStatistics> tensors; ///< exact, of every state of every parameter; without histograms
    /// Parameters with rounded masters that differ from their 16-bit copies by more than the last bit.
    std::vector<std::string> staleCopies;
};

/// Reads the whole checkpoint. Memory: that of scanCheckpoint(), computeStatistics() and diffStates(), and
/// the result. The only error is Cancelled; read failures are in the facts.
Result<std::shared_ptr<const ByteFacts>> readByteFacts(
    io::FileSystem& files, const CheckpointPtr& checkpoint, const Workers& workers, JobContext& job);

} // namespace shardscope
