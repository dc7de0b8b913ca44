// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hostile/run_here.h"

namespace shardscope::test {

/// The built program in a process of its own with only a few gigabytes of address space: a size that a file
/// declares must not become an allocation. Under sanitizers, which reserve terabytes, in this process.
ProcessResult runHereOrThere(const std::vector<std::string>& words);

} // namespace shardscope::test
