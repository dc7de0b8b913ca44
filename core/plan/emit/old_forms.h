// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>

namespace shardscope {

/// What files of older releases lack for today's DeepSpeed.

/// Whether the files are rebuilt although stage and form stay: names and shapes lie elsewhere than in the
/// model file (before 0.6.0), ZeRO-1/2's wrapper lacks what records its shards (before 0.7.4), or ZeRO-3's
/// placeholders have an element (before 0.6.0), which a strict load of today refuses.
bool hasOldForm(const Checkpoint& source);

/// `ds_version` of what is written: the source's, or for files from before it was recorded (0.4.0) the oldest
/// one that stock takes for every stage (runtime/zero/stage_1_and_2.py, _load_legacy_checkpoint).
std::string writtenVersion(const Checkpoint& source);

} // namespace shardscope
