// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::bench {

/// One run of a program, from fork to exit; the kernel's own figures.
struct ProcessRun {
    int exitCode = -1; ///< -1: killed
    double seconds = 0;
    double processorSeconds = 0; ///< user and system
    uint64_t peakBytes = 0; ///< largest resident set
    std::string output; ///< of stdout, the first 64 KiB
};

/// Runs a program with its stderr on ours. Ends this program with a message when it cannot be started or
/// fails.
ProcessRun runProgram(const std::vector<std::string>& command);

} // namespace shardscope::bench
