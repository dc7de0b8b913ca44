// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <memory>
#include <mutex>
#include <vector>

namespace shardscope::io {

/// Buffers of one size for direct I/O. Keeps as many as were in use at a time. Thread-safe.
class BlockBuffers
{
public:
    /// `bytes`: a multiple of kDirectAlignment.
    explicit BlockBuffers(size_t bytes)
        : m_bytes(bytes)
    {
    }

    /// A buffer in use; returns to the pool, which it does not outlive.
    class Lease
    {
    public:
        explicit Lease(BlockBuffers& pool);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        [[nodiscard]] std::span<uint8_t> bytes() const { return {m_data.get(), m_pool.m_bytes}; }

    private:
        BlockBuffers& m_pool;
        std::shared_ptr<uint8_t[]> m_data;
    };

private:
    size_t m_bytes;
    std::mutex m_mutex;
    std::vector<std::shared_ptr<uint8_t[]>> m_free;
};

/// Whether direct I/O suits a file that is read once: a disk of this machine has it, its file system accepts
/// direct I/O, and most of it is not in the page cache. False where that cannot be determined, and for small
/// files.
bool suitsDirectReading(const ReadFile& file);

/// The same file, whose large ranges are read by direct I/O: the blocks that cover a range into a buffer of
/// the pool, and from there to the caller. A file that is read once costs less processor time so, and does
/// not displace what others need from the page cache.
std::unique_ptr<ReadFile> readPastPageCache(
    std::unique_ptr<ReadFile> file, std::shared_ptr<BlockBuffers> buffers);

} // namespace shardscope::io
