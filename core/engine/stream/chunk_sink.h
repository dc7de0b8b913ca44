// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/parallel.h"
#include "core/compute/compute_backend.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace shardscope {

/// The payload memory of one worker, reused for every file.
class ChunkBuffers
{
public:
    /// A chunk's buffer has room for so much of the next chunk, so that no element is split.
    static constexpr size_t kSlackBytes = 64;

    /// `count` buffers for chunks of `bytes` each, in the memory type that the backend prefers.
    ChunkBuffers(size_t count, size_t bytes, const ComputeBackend& backend);

    [[nodiscard]] size_t count() const { return m_buffers.size(); }
    [[nodiscard]] size_t bytes() const { return m_bytes; }
    [[nodiscard]] uint8_t* at(size_t i) const { return m_buffers[i].get(); }

private:
    size_t m_bytes;
    std::vector<HostMemory> m_buffers;
};

/// Takes the bytes of one file in order, in chunks, and passes each chunk to a consumer. All but the last
/// have exactly the size of the buffers, so that they are aligned in the file. The consumer runs in place or
/// on a second thread, if one can be started; then filling and consuming overlap. Chunks arrive in order. At
/// most the worker's buffers are in flight.
///
/// Used by one thread. A consumer's error comes back from the next room() or from finish().
class ChunkSink
{
public:
    using Consumer = std::function<Status(uint64_t offset, std::span<const uint8_t> bytes)>;

    ChunkSink(ChunkBuffers& buffers, bool threaded, Consumer consumer);
    /// Without finish() before, drops data that was not consumed.
    ~ChunkSink();
    ChunkSink(const ChunkSink&) = delete;
    ChunkSink& operator=(const ChunkSink&) = delete;

    /// Free memory after the bytes so far, at least `atLeast` bytes: no more than ChunkBuffers::kSlackBytes.
    Result<std::span<uint8_t>> room(size_t atLeast);
    /// Marks the first `bytes` of the room as filled.
    void filled(size_t bytes);
    /// Passes on the rest and waits until all is consumed.
    Status finish();
    /// The total number of filled bytes.
    [[nodiscard]] uint64_t offset() const { return m_chunkOffset + m_used + m_carriedBytes; }

private:
    struct Full {
        size_t buffer = 0;
        uint64_t offset = 0;
        size_t bytes = 0;
    };

    Status takeBuffer();
    Status handOver();
    void consumeAll();
    void stopThread(bool drop);

    ChunkBuffers& m_buffers;
    Consumer m_consumer;
    bool m_threaded;
    uint64_t m_chunkOffset = 0; ///< in the file, of the current buffer
    size_t m_used = 0;
    std::array<uint8_t, ChunkBuffers::kSlackBytes> m_carried{}; ///< the start of the next chunk
    size_t m_carriedBytes = 0;
    size_t m_current = 0;
    bool m_haveCurrent = false;

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<size_t> m_free;
    std::deque<Full> m_full;
    Status m_status;
    bool m_ended = false;
    Thread m_thread;
};

} // namespace shardscope
