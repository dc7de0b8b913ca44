// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/plan/target/reshard_options.h"

#include <vector>

namespace shardscope {

/// The source of a plan whose tensor slices become one (merged_slices.h), and what the user should know.
struct SliceMerge {
    CheckpointPtr source;
    std::vector<Finding> warnings;
};

/// Names in backticks, the first twenty of them.
std::string nameList(const std::vector<std::string>& names);

/// Merges the slices of a checkpoint and, where the target has others, splits them (slice_split.h), as
/// `options.patterns` say, else as it records. Slices that patterns call equal, or averaged, are read and
/// held against each other: Refused when they differ, because their mean, which stock's converter would
/// write, is not made here. Refused, too, where no pattern names slices that are equal in every state: they
/// are copies, and joining them end to end, as DeepSpeed does with what no pattern names, would be wrong.
/// Usage for patterns that fit no name.
Result<SliceMerge> mergeForPlan(
    io::FileSystem& files, const CheckpointPtr& source, const ReshardOptions& options, JobContext& job);

} // namespace shardscope
