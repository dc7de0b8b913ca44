// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/slices/slice_rules.h"
#include "core/plan/reshard/slice_join.h"

namespace shardscope {

/// Whether the target has another number of tensor slices than the source, more than one, or rows of padding
/// that are asked for: then what was joined is cut again (split_slices.h).
bool cutsSlices(const Checkpoint& source, const ReshardOptions& options);

/// Whether this build can: Unsupported, by name, for pipeline stages, experts, Muon, and sources that are no
/// ZeRO checkpoint; Usage for numbers that cannot be.
Status checkCut(const Checkpoint& source, const ReshardOptions& options);

/// Cuts `join.source` by `given`, else by what the run recorded, and says what the user should know.
Status cutForPlan(const CheckpointPtr& source, const std::optional<SliceRules>& given,
    const ReshardOptions& options, SliceJoin& join);

} // namespace shardscope
