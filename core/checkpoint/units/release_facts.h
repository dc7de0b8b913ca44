// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Facts that older releases tell elsewhere than those of today, or otherwise.

/// Before 0.7.0 an optimizer file has a plain number for the stage, and 2 for stage 1 too
/// (runtime/zero/stage2.py): then the configuration decides, and kind and stage become those of ZeRO-1.
void applyConfiguredStage(const Reading& reading, FileId optimFile);
/// Model files with experts have no version before 0.19.3: an optimizer file's stands for it.
void takeVersionOf(const Reading& reading, FileId optimFile);

} // namespace shardscope
