// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace shardscope::io {

/// Raises the limit of open files of this process to what it may have, at most 16,384; for programs, at
/// their start. No effect where this is not allowed.
void allowManyOpenFiles();

/// How many files may be opened together: half of what the limit allows, from 16 to 1,024.
size_t filesAtATime();

} // namespace shardscope::io
