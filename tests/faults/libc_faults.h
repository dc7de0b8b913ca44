// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardscope::test {

/// Calls of the C library by this process that touch files: all with a path, and those on descriptors of
/// files and folders. libc_faults.cpp takes the place of these functions for the whole program.
struct LibcFault {
    uint64_t callNumber = 0; ///< 1-based; 0: none, they are only counted
    int errnoValue = 0; ///< of the call, which does nothing (close() closes)
};

/// Threads that cannot be started.
struct ThreadFault {
    uint64_t threadNumber = 0; ///< 1-based; 0: none, they are only counted
    bool andLater = false; ///< this one and all that follow
};

/// Large allocations (from 64 KiB on) that fail: small ones do not, where memory is limited.
struct MemoryFault {
    uint64_t allocationNumber = 0; ///< 1-based; 0: none, they are only counted
};

/// Counts and fails calls while it lives; at most one at a time.
class FaultsHere
{
public:
    explicit FaultsHere(LibcFault fault);
    explicit FaultsHere(ThreadFault fault);
    explicit FaultsHere(MemoryFault fault);
    ~FaultsHere();
    FaultsHere(const FaultsHere&) = delete;
    FaultsHere& operator=(const FaultsHere&) = delete;

    /// Of files, of threads or of memory.
    [[nodiscard]] uint64_t calls() const;
    /// The function that failed, for messages; null if none was reached.
    [[nodiscard]] const char* failed() const;
};

/// The number of processors that the program sees.
void setProcessors(int count);

} // namespace shardscope::test
