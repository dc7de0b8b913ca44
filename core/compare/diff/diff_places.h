// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/diff_causes.h"
#include "core/compare/diff/diff_piece.h"

namespace shardscope {

/// Finds exchanged parameters of one size: every state of one on the left equals that of the other on the
/// right, in both directions. Adds a cause "tensors-swapped".
Status findSwappedTensors(const DiffInput& input, const StateDiff& diff, std::vector<DiffCause>& out);

/// Whether the flat buffers of a param group are the same on both sides but one side reads them in another
/// order: in the optimizer's order, although round_robin_gradients distributed parameters to ranks in turn
/// (core/partition/round_robin.h). DeepSpeed's universal converter does that. Adds a cause
/// "flat-group-order" if true.
Result<bool> findFlatOrder(const DiffInput& input, const StateDiff& diff, std::vector<DiffCause>& out);

/// Whether only whole shards of some ranks of one side differ: either those shards are exchanged
/// ("ranks-swapped", with the permutation), or from another step or run ("stale-shard"). Adds at most one
/// cause.
Status findRanks(const DiffInput& input, DiffSide side, const StateDiff& diff, std::vector<DiffCause>& out);

/// Whether stored padding, which is never read, has bytes other than zero on one side only.
Result<bool> paddingDiffers(
    io::FileSystem& files, const Checkpoint& left, const Checkpoint& right, JobContext& job);

} // namespace shardscope
