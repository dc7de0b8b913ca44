// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardscope {

/// The division of a job's payload memory.
struct MemoryPlan {
    static constexpr uint64_t kMin = uint64_t{64} << 10; ///< the smallest useful limit
    static constexpr uint64_t kPage = 4096; ///< chunkBytes is a multiple

    size_t workers = 1; ///< files at a time
    size_t buffersPerWorker = 1; ///< more than one if a second thread consumes the buffers
    size_t readBackBuffers = 0; ///< per worker
    size_t chunkBytes = 0;
    /// One per worker, for the whole blocks around a chunk of a source that is read by direct I/O.
    [[nodiscard]] uint64_t coverBytes() const { return uint64_t{chunkBytes} + kPage; }
    /// Write-back is started for every window of this size, so that the dirty bytes of all workers together,
    /// which the last fsync and so a cancel has to wait for, stay bounded.
    [[nodiscard]] uint64_t writeBackWindow() const;
    [[nodiscard]] uint64_t totalBytes() const
    {
        return uint64_t{workers} * ((buffersPerWorker + readBackBuffers) * chunkBytes + coverBytes());
    }
};

/// At most `limitBytes` in all (kMin or more), `jobs` workers (1 or more) and `files` workers. A low limit
/// reduces workers first, then the size of chunks. `readsBack`: each worker also reads files back.
MemoryPlan divideMemory(uint64_t limitBytes, unsigned jobs, size_t files, bool readsBack);

} // namespace shardscope
