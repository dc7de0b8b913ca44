// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/parallel.h"
#include "core/engine/stream/byte_range.h"
#include "core/engine/stream/chunk_sink.h"
#include "core/engine/stream/halt.h"
#include "core/engine/stream/stage_times.h"
#include "core/io/content_digest.h"
#include "core/io/file_system.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// The number of complete files that wait to be read back: they are open, and writing must not run far ahead.
inline constexpr size_t kReadBackFiles = 24;

/// Reads output files back from the device, while other parts of them and other files are written, and
/// compares each chunk of kDigestChunkBytes with its digest and each record with its CRC as they were
/// written.
///
/// The chunks of one file are read in order, by one thread at a time. Thread-safe.
class ReadBack
{
public:
    /// An output file; made by begin().
    class File;

    /// With `threads` 0, or if none can be started, complete() reads in the calling thread. A failure also
    /// stops `halt`.
    ReadBack(
        size_t threads, size_t bufferBytes, const ComputeBackend& backend, StageTimes& times, Halt& halt);
    /// Drops what was not read.
    ~ReadBack();
    ReadBack(const ReadBack&) = delete;
    ReadBack& operator=(const ReadBack&) = delete;

    /// `file` has its final size. `payloads` are ascending, in the order of the records. `path` is for
    /// errors.
    std::shared_ptr<File> begin(
        std::unique_ptr<io::ReadFile> file, io::Path path, std::vector<ByteRange> payloads);
    /// The next chunk is on the device.
    void add(const std::shared_ptr<File>& file, const io::Xxh3Digest& digest);
    /// All chunks were added. `crcs` has one entry per payload. Waits while many complete files are not yet
    /// read.
    void complete(const std::shared_ptr<File>& file, std::vector<uint32_t> crcs);
    /// Waits until all completed files were read. The first failure: VerifyFailed if anything differs.
    Status finish();

    /// The first failure so far.
    [[nodiscard]] std::optional<Error> failure() const;
    /// Whether all files so far were read by direct I/O.
    [[nodiscard]] bool readDirectly() const { return m_direct; }

private:
    void readFiles(ChunkBuffers& buffer);
    Status readChunks(File& file, ChunkBuffers& buffer);
    Status readChunk(File& file, const io::Xxh3Digest& digest, ChunkBuffers& buffer);
    void report(const Status& status);

    StageTimes& m_times;
    Halt& m_halt;
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<std::shared_ptr<File>> m_waiting; ///< with chunks to read, and not being read
    size_t m_unread = 0; ///< complete, and not read to the end
    std::optional<Error> m_failure;
    bool m_ended = false;
    std::atomic<bool> m_direct = true;
    std::vector<ChunkBuffers> m_buffers;
    std::mutex m_inPlace; ///< without threads, of the one that reads
    std::vector<Thread> m_threads;
};

} // namespace shardscope
