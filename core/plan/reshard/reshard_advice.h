// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/reshard/reshard.h"

#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// Every (micro-batch, accumulation) whose product times `ranks` is the source run's global batch, smallest
/// micro-batch first. Empty when the configuration does not record the global batch or it does not divide.
std::vector<BatchPair> batchPairs(const Checkpoint& source, uint32_t ranks);

/// Config keys that nothing checks and that must stay as they were (zero12 9.3, zero3 2.2), with their
/// values. `expertRanks`: the target's expert-parallel degree, 0 for the source's.
std::vector<std::pair<std::string, std::string>> mustStayEqual(
    const Checkpoint& source, CheckpointKind target, uint64_t subGroupSize, uint32_t expertRanks);

/// The batch of all data-parallel ranks of the source run together. Nothing where no file records it.
std::optional<uint64_t> globalBatch(const Checkpoint& source);

/// What stock DeepSpeed would do wrong or silently with the result, and what cannot be carried. `ranks`: the
/// target's data-parallel ones.
std::vector<Finding> reshardWarnings(const Checkpoint& source, CheckpointKind target,
    const ReshardOptions& options, uint64_t subGroupSize, uint32_t ranks);
/// The same for a universal target, and for what a stock universal load of a universal source would have
/// lost.
void addUniversalWarnings(const Checkpoint& source, CheckpointKind target, std::vector<Finding>& out);

} // namespace shardscope
