// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/slices/merged_slices.h"
#include "core/layout/slices/slice_rules.h"

#include <utility>

namespace shardscope {

/// A checkpoint with its slices and stages merged and without padding of its vocabulary, for comparison with
/// other numbers of slices. Slices are merged by `given`, else as the checkpoint records. Unsupported if the
/// merge is not recorded.
Result<CheckpointPtr> inOneSlice(const CheckpointPtr& checkpoint, const SliceRules* given);

/// Two checkpoints, with slices or stages merged (merged_slices.h) if the two differ in their number, or if
/// stages have other layers, so that both have the same parameters. Slices are merged by `given`, else as
/// each checkpoint records, else as the other one does; padding of a vocabulary is omitted on both sides.
/// Unsupported if the merge is not recorded.
Result<std::pair<CheckpointPtr, CheckpointPtr>> inSameDegrees(
    const CheckpointPtr& one, const CheckpointPtr& other, const SliceRules* given);

} // namespace shardscope
