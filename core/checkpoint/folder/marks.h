// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Adds a finding for each mark in `shardscope.json` of the tag folder. Does nothing if that file is not
/// Shardscope's; `verify` reports that.
void readMarks(const Reading& reading);

} // namespace shardscope
