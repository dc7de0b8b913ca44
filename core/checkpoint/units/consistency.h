// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Optimizer files of another world size become Foreign, with a finding; before the model is read.
void markForeignRanks(const Reading& reading);
/// Ranks that disagree with rank 0 about step, options or scaler; after the model is read.
void checkRanksAgree(const Reading& reading);
/// torch names the archive inside a file after the file. A name with another rank in it: the file was
/// renamed, and holds that rank's part. It becomes Foreign, with a finding; whether it did.
bool markRenamed(const Reading& reading, FileId file);
/// One more ZeRO-3 model file against the first: steps, world size, version.
void checkModelFile(const Reading& reading, FileId file);

} // namespace shardscope
