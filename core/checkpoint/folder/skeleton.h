// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Whether the checkpoint has no values because it was made for a bug report
/// (core/torchfile/skeleton/skeleton_files.h).
bool isSkeleton(const Checkpoint& checkpoint);
/// Adds a finding if the checkpoint is a skeleton.
void noteSkeleton(io::FileSystem& files, Checkpoint& checkpoint);

/// Adds a finding for each mark in `shardscope.json` of the tag folder, or next to weights. Does nothing if
/// that file is not Shardscope's; `verify` reports that.
void readMarks(io::FileSystem& files, Checkpoint& out);

} // namespace shardscope
