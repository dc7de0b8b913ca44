// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/slices/joined_slices.h"
#include "core/checkpoint/slices/slice_rules.h"

#include <utility>

namespace shardscope {

/// A checkpoint with its slices and stages joined and without padding of its vocabulary, which is what others
/// of another number of them have, too. Slices join by `given`, else as the checkpoint records. Unsupported
/// where nothing says how.
Result<CheckpointPtr> inOneSlice(const CheckpointPtr& checkpoint, const SliceRules* given);

/// Two checkpoints, those with slices or stages joined (joined_slices.h) where the two differ in their
/// number, or stages hold other layers, so that both have the same parameters. Slices join by `given`, else
/// as each checkpoint records, else as the other one does; padding of a vocabulary is left out on both sides.
/// Unsupported where nothing says how slices join.
Result<std::pair<CheckpointPtr, CheckpointPtr>> inSameDegrees(
    const CheckpointPtr& one, const CheckpointPtr& other, const SliceRules* given);

} // namespace shardscope
