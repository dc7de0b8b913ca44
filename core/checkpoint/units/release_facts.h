// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Facts that older releases record in other places or forms than current ones.

/// Before 0.7.0 the stage in an optimizer file is a plain number, and it is 2 for stage 1, too
/// (runtime/zero/stage2.py). Then the configuration decides whether kind and stage become those of ZeRO-1.
void applyConfiguredStage(const Reading& reading, FileId optimFile);
/// Model files with experts have no version before 0.19.3. Takes it from an optimizer file.
void takeVersionOf(const Reading& reading, FileId optimFile);

} // namespace shardscope
