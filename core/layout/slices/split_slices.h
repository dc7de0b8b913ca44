// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/slices/merged_slices.h"
#include "core/layout/slices/slice_rules.h"

namespace shardscope {

/// Kinds with tensors that can be merged and split: ZeRO-1, 2, 3 and BF16_Optimizer.
bool isSharded(CheckpointKind kind);
/// The patterns that a checkpoint records in its rank-0 model file. Nothing if there are none or none can be
/// read. Errors as SliceRules::recorded().
Result<std::optional<SliceRules>> recordedRules(const Checkpoint& checkpoint);

/// The target of a split into slices.
struct SliceSplit {
    uint32_t slices = 1; ///< 1 or more
    /// Rows of a vocabulary's tensors in all slices together, including padding. Required if the source has
    /// padding: the amount depends on each run's own configuration.
    std::optional<uint64_t> vocabularyRows = {};
    bool asRecorded = false; ///< `rules` come from the checkpoint's record
};

/// Splits the result of mergeSlices() into slices. This is the inverse of the merge, as in
/// deepspeed/checkpoint/universal_checkpoint.py, load_hp_checkpoint_state. Every part holds its slices stored
/// whole, in pieces of `merged`. Rows that pad a vocabulary are zero. A part takes the model file of the
/// source's slice at the same place (part × slices of the source ÷ slices).
///
/// Refused, with the parameter's name, if a dimension does not divide or the rows of a padded vocabulary are
/// not known. Usage if the number of rows is impossible. Unsupported if the source's slices do not match the
/// rules, or have several sizes: the sizes for another number of slices are then unknown.
Result<CheckpointPtr> splitSlices(
    const CheckpointPtr& merged, const SliceRules& rules, const SliceSplit& split);

} // namespace shardscope
