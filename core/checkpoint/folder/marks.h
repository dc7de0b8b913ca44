// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Adds a finding for each mark in `shardscope.json` of the tag folder, or next to weights. Does nothing if
/// that file is not Shardscope's; `verify` reports that.
void readMarks(io::FileSystem& files, Checkpoint& out);

} // namespace shardscope
