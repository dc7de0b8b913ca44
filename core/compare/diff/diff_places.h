// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/diff_causes.h"

namespace shardscope {

/// Parameters of one size whose values stand under another's name: every state of the left one equals the
/// right side's of the other, in both directions. Adds a cause "tensors-swapped".
Status findSwappedTensors(io::FileSystem& files, const Checkpoint& left, const Checkpoint& right,
    const StateDiff& diff, std::vector<DiffCause>& out, JobContext& job);

/// Whether the flat buffers of a param group are the same on both sides and one side takes them in another
/// order: as the optimizer has its parameters, where round_robin_gradients dealt them to ranks in turn
/// (core/partition/round_robin.h). DeepSpeed's universal converter does that. Adds a cause
/// "flat-group-order"; whether it did.
Result<bool> findFlatOrder(io::FileSystem& files, const Checkpoint& left, const Checkpoint& right,
    const StateDiff& diff, std::vector<DiffCause>& out, JobContext& job);

/// Whether what differs are whole shares of some of the ranks of one side, while all else is equal: then
/// either those shares changed places ("ranks-swapped": the permutation is told), or they are from another
/// time or run
/// ("stale-shard"). Adds at most one cause.
Status findRanks(io::FileSystem& files, const Checkpoint& left, const Checkpoint& right, DiffSide side,
    const StateDiff& diff, std::vector<DiffCause>& out, JobContext& job);

/// Whether stored padding, which nothing reads, has other bytes than zeros on one side and not on the other.
Result<bool> paddingDiffers(
    io::FileSystem& files, const Checkpoint& left, const Checkpoint& right, JobContext& job);

} // namespace shardscope
