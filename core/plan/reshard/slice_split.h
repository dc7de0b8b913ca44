// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/slices/slice_rules.h"
#include "core/plan/reshard/slice_merge.h"

namespace shardscope {

/// Whether the target has another number of tensor slices than the source, more than one, or rows of padding
/// that are asked for: then what was merged is split again (split_slices.h).
bool splitsSlices(const Checkpoint& source, const ReshardOptions& options);

/// Whether this build can: Unsupported, by name, for pipeline stages, experts, Muon, and sources that are no
/// ZeRO checkpoint; Usage for numbers that cannot be.
Status checkSplit(const Checkpoint& source, const ReshardOptions& options);

/// Splits `merge.source` by `given`, else by what the run recorded, and adds warnings for the user.
Status splitForPlan(const CheckpointPtr& source, const std::optional<SliceRules>& given,
    const ReshardOptions& options, SliceMerge& merge);

} // namespace shardscope
