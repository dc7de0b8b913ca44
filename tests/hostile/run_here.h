// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/process.h"

namespace shardscope::test {

/// The command line in this process, all but main(): what it prints and its exit code. Thousands of calls on
/// bad input need no process each, which costs more than the call, under sanitizers above all.
ProcessResult runHere(const std::vector<std::string>& words);

/// The built program in a process of its own with only a few gigabytes of address space: a size that a file
/// declares must not become an allocation. Under sanitizers, which reserve terabytes, in this process.
ProcessResult runHereOrThere(const std::vector<std::string>& words);

} // namespace shardscope::test
