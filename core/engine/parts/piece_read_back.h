// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/parallel.h"
#include "core/engine/parts/piece.h"
#include "core/engine/stream/chunk_sink.h"
#include "core/engine/stream/halt.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace shardscope {

/// Reads pieces back in threads of its own, while others are written. Thread-safe.
class PieceReadBack
{
public:
    /// Compares one piece with its record.
    using Check = std::function<Status(const PieceRecord&, ChunkBuffers&)>;

    /// With `threads` 0, or if none can be started, add() reads in the calling thread. A failure also stops
    /// `halt`.
    PieceReadBack(size_t threads, size_t bufferBytes, const ComputeBackend& backend, Halt& halt, Check check);
    /// Drops what was not read.
    ~PieceReadBack();
    PieceReadBack(const PieceReadBack&) = delete;
    PieceReadBack& operator=(const PieceReadBack&) = delete;

    /// The piece is on the device.
    void add(PieceRecord record);
    /// Waits until all pieces were read, after writing ended with `written`. Where both failed, the error is
    /// the one that stopped the other.
    Status endAfter(Status written);

private:
    void readPieces(ChunkBuffers& buffers);
    void report(Status status);

    Halt& m_halt;
    Check m_check;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<PieceRecord> m_waiting;
    size_t m_unread = 0; ///< waiting, or being read
    std::optional<Error> m_failure;
    bool m_ended = false;
    std::vector<ChunkBuffers> m_buffers;
    std::mutex m_inPlace; ///< without threads, of the one that reads
    std::vector<Thread> m_threads;
};

} // namespace shardscope
