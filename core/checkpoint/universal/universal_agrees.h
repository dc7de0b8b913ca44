// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// For a universal folder with copies of weights: compares some masters of every group with them. This is the
/// only way to detect the errors of DeepSpeed's converter with a round-robin source.
void checkUniversalAgrees(const Reading& reading);

} // namespace shardscope
