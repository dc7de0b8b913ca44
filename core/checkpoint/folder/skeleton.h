// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Whether it is one without values, made for a bug report (core/torchfile/skeleton/skeleton_files.h).
bool isSkeleton(const Checkpoint& checkpoint);
/// A finding where the checkpoint is a skeleton.
void noteSkeleton(io::FileSystem& files, Checkpoint& checkpoint);

} // namespace shardscope
