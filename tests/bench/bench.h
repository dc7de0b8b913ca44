// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <cstdint>
#include <string>

namespace shardscope::bench {

/// What to measure with, and where.
struct BenchOptions {
    std::string program; ///< shardscope
    std::string generator; ///< shardscope_generate
    std::string self; ///< this program, which opens checkpoints in a process of its own
    io::Path work; ///< a folder that is made and removed
    std::string sample; ///< a small checkpoint
    uint64_t reshardBytes = uint64_t{4} << 30U;
    uint32_t rounds = 3;
    uint32_t inspectRounds = 50;
    uint32_t openParams = 300'000;
    uint32_t openFiles = 1'000;
    bool warm
        = false; ///< sources are read into the page cache before each run; else they are dropped from it
};

/// reshard against cp -r and sync of the same bytes.
void benchReshard(const BenchOptions& options, int stage);
/// fingerprint, stats of every element, and diff against reading the same files.
void benchReading(const BenchOptions& options);
/// inspect, from start to exit.
void benchInspect(const BenchOptions& options);
/// Opening many files with many parameters.
void benchOpen(const BenchOptions& options);
/// In a process of its own: opens PATH at a depth, where every call for files waits, and prints milliseconds,
/// parameters, files, calls.
int openChild(const std::string& path, const std::string& depth, uint32_t waitMilliseconds);

} // namespace shardscope::bench
