// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/reshard/slice_merge.h"
#include "core/plan/target/reshard_options.h"

namespace shardscope {

/// Layers of a pipeline that are repartitioned to stages (core/layout/slices/split_stages.h), as options
/// ask for it.

/// Whether the target has several stages that are not the source's.
bool splitsStages(const Checkpoint& source, const ReshardOptions& options);

/// Unsupported for what is no pipeline of ZeRO-1 or BF16_Optimizer, or has slices, experts or Muon besides;
/// Refused where the options do not say which layers a stage has; Usage for options that cannot be.
Status checkStageSplit(const Checkpoint& source, const ReshardOptions& options);

/// Splits the merged source as the options say.
Status splitStagesForPlan(const ReshardOptions& options, SliceMerge& merge);

} // namespace shardscope
