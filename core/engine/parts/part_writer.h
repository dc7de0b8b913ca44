// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/part_ranges.h"
#include "core/engine/parts/record_parts.h"
#include "core/engine/stream/chunk_sink.h"
#include "core/engine/stream/memory_plan.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace shardscope {

/// What writing and combining parts use.
struct PartResources {
    const MemoryPlan& memory;
    const ComputeBackend& backend;
    StageTimes& times;
    /// The place of a planned file. Unfinished, it has unfinishedName().
    std::function<io::Path(const std::string& path)> placeOf;
    /// Asked before a piece is written; after an error it is not.
    std::function<Status()> mayWrite = {};
    bool sha256 = false; ///< record SHA-256 of every completed file, in place of XXH3-128
};

io::Path unfinishedName(io::Path place);

/// Called from many threads, one at a time.
struct PartEvents {
    /// The piece is on the disk. May take the sums of elements and sources out of the record.
    std::function<Status(PieceRecord&)> written;
    std::function<Status(const FilePiece&)> checked; ///< it was read back
    std::function<Status(std::span<const FileRun>)> left; ///< work on these files has ended
    /// The process completes the job next: files get their names, and `left` is called only after a stop.
    bool goesOn = false;
};

/// What is read back while pieces are written.
struct ReadsBack {
    bool own = false; ///< each piece, after it was written
    uint64_t otherBytes = 0; ///< of pieces that another process writes meanwhile
    /// Those it has written since the last call. Called from many threads, one at a time; not without
    /// otherBytes.
    std::function<std::vector<PieceRecord>()> others = {};
};

/// Writes pieces of a plan's files, which other processes may write as well, and reads pieces back. A method
/// uses many threads; call one at a time.
class PartWriter
{
public:
    PartWriter(io::FileSystem& files, const WritePlan& plan, const PartResources& resources, JobContext& job);
    ~PartWriter();

    /// Writes `pieces`, which are ascending. `known`: the pieces of earlier runs, whose checksums complete
    /// those of records that were begun then. SourceChanged, Damaged, VerifyFailed, and errors of writing.
    Status write(std::span<const FilePiece> pieces, std::span<const PieceRecord> known,
        const ReadsBack& readsBack, const PartEvents& events);
    /// Reads pieces back from the device, written by this process or another one, and compares their digests
    /// and checksums. Those that differ are not reported as checked.
    Status check(std::span<const PieceRecord> pieces, const PartEvents& events);

    /// Whether everything was read back by direct I/O.
    [[nodiscard]] bool readDirectly() const { return m_readDirectly; }
    /// The files, by their index in the plan, that write() has completed and given their names (goesOn):
    /// those without late bytes. Their digests and chunks are not set.
    [[nodiscard]] std::map<uint32_t, WrittenFile> takeCompleted() { return std::move(m_completed); }

private:
    struct OpenFile;

    Result<std::shared_ptr<OpenFile>> openFile(uint32_t file, const Halt& halt);
    Status closeFile(uint32_t file, bool completes);
    Result<PieceRecord> writePiece(
        const FilePiece& piece, OpenFile& file, ChunkBuffers& buffers, const Halt& halt);
    Status checkPiece(const PieceRecord& record, ChunkBuffers& buffers, const Halt& halt);
    Status recordLeft(const PartEvents& events);

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    const PartResources& m_resources;
    JobContext& m_job;
    TensorKeys m_keys;
    SourcePool m_sources;
    std::vector<ChunkBuffers> m_buffers; ///< one per worker
    std::span<const FilePiece> m_pieces; ///< of the write() that runs
    std::span<const PieceRecord> m_known;
    std::mutex m_mutex;
    std::mutex m_eventMutex;
    std::map<uint32_t, std::shared_ptr<OpenFile>> m_open;
    uint64_t m_run = 0; ///< of the write() that runs
    std::map<uint32_t, io::FileIdentity> m_before; ///< its files, as FileRun::before
    std::map<uint32_t, WrittenFile> m_completed;
    std::atomic<bool> m_readDirectly = true;
};

} // namespace shardscope
