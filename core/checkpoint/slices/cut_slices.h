// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/slices/joined_slices.h"
#include "core/checkpoint/slices/slice_rules.h"

namespace shardscope {

/// Kinds whose tensors may be joined and cut: ZeRO-1, 2, 3 and BF16_Optimizer.
bool isSharded(CheckpointKind kind);
/// The patterns that a checkpoint records in its rank-0 model file; nothing where it has none, or none can be
/// read. Errors as SliceRules::recorded().
Result<std::optional<SliceRules>> recordedRules(const Checkpoint& checkpoint);

/// What a checkpoint is cut into.
struct SliceCut {
    uint32_t slices = 1; ///< from 1 on
    /// Rows of a vocabulary's tensors in all slices together, padding included; needed where the source has
    /// padding, because how much a run adds depends on its own configuration.
    std::optional<uint64_t> vocabularyRows = {};
    bool asRecorded = false; ///< `rules` are those that the checkpoint records
};

/// What joinSlices() made, cut into slices: the mirror image of it, as deepspeed/checkpoint/
/// universal_checkpoint.py, load_hp_checkpoint_state, cuts what its converter joined. Every part holds its
/// slices stored whole, in pieces of `joined`; rows that pad a vocabulary are zero. Model files are those of
/// the slice of the source at the same place (part × slices of the source ÷ slices).
///
/// Refused, naming the parameter, where a dimension does not divide or the rows of a padded vocabulary are
/// not known; Usage for rows that cannot be; Unsupported where the source's slices are not cut as the rules
/// say, or are of several sizes: how another number of slices shares is not known then.
Result<CheckpointPtr> cutSlices(const CheckpointPtr& joined, const SliceRules& rules, const SliceCut& cut);

} // namespace shardscope
