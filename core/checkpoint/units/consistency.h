// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Marks optimizer files of another world size as Foreign, with a finding. Call before the model is read.
void markForeignRanks(const Reading& reading);
/// Reports ranks that disagree with rank 0 about step, options or scaler. Call after the model is read.
void checkRanksAgree(const Reading& reading);
/// torch names the archive inside a file after the file. If that name has another rank, the file was renamed
/// and holds that rank's part. Such a file becomes Foreign, with a finding. Returns whether it did.
bool markRenamed(const Reading& reading, FileId file);
/// Compares another ZeRO-3 model file with the first one: steps, world size, version.
void checkModelFile(const Reading& reading, FileId file);

} // namespace shardscope
