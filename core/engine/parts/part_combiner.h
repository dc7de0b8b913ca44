// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/part_writer.h"
#include "core/engine/parts/piece_walk.h"
#include "core/engine/stream/output_walk.h"

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// Completes files after processes have written all their pieces: bytes that depend on checksums of several
/// pieces, digests, fingerprint sums, and the check of the sources.
///
/// Reads only chunks with such bytes, elements and sources that pieces share in part, and parts of sources
/// that no piece has read; with SHA-256, which needs the bytes in order, every file. Call take() while pieces
/// are written, if wanted, then combine(), then checkSources().
class PartCombiner
{
public:
    PartCombiner(
        io::FileSystem& files, const WritePlan& plan, const PartResources& resources, JobContext& job);

    /// Counts the elements and the source bytes of a piece, and frees the memory of their sums in its record:
    /// combine() finds nothing more to count there. Not thread-safe. Damaged if a source is not as it was
    /// saved.
    Status take(PieceRecord& record);
    /// Completes all files and gives them their names. `pieces` are disjoint, ascending and cover all files;
    /// `completed`: PartWriter::takeCompleted(); `readsBack`: what is written now is read back, too.
    /// VerifyFailed if a file is not what its pieces recorded.
    Status combine(std::span<PieceRecord> pieces, std::map<uint32_t, WrittenFile> completed, bool readsBack);
    /// The same for files that are not written here (emit.h): counts what `pieces` have and checks the
    /// sources.
    Status combineSums(std::span<PieceRecord> pieces);
    /// Damaged if the bytes that were read from the sources do not match their saved checksums, SourceChanged
    /// if a source changed.
    Status checkSources();

    /// Reads files back that others may have changed since then. WriteFailed if one is gone: the next run
    /// writes it again. VerifyFailed.
    Status readChanged();

    /// All files in the plan's order.
    [[nodiscard]] std::vector<WrittenFile>& files() { return m_written; }
    [[nodiscard]] const ElementDigests& digests() const { return m_digests; }

private:
    /// Bytes of a file that are known only now.
    struct LateBytes {
        uint64_t begin = 0;
        std::string bytes;
    };
    /// Elements that only one piece has to count, of a run that another piece has in part.
    struct PartialSum {
        uint32_t file = 0;
        ElementsSum sum; ///< of the run
        uint64_t from = 0;
        uint64_t to = 0;
    };
    struct FileToCombine;

    Result<WrittenFile> combineFile(uint32_t file, std::span<const PieceRecord> pieces, bool readsBack,
        ChunkBuffers& buffers, const Halt& halt);
    Status addRecords(FileToCombine& file, std::span<const PieceRecord> pieces, ChunkBuffers& buffers,
        const Halt& halt, std::vector<LateBytes>& late, std::vector<WrittenRecord>& records);
    Result<std::vector<LateBytes>> lateBytes(
        const FileToCombine& file, RecordParts& crcs, ChunkBuffers& buffers, const Halt& halt);
    /// Of every chunk; reads those with late bytes, or with several digests.
    Result<std::vector<io::Xxh3Digest>> chunkDigests(const FileToCombine& file,
        const std::vector<LateBytes>& late, ChunkBuffers& buffers, std::vector<ByteRange>& read);
    Result<io::Xxh3Digest> readChunk(const FileToCombine& file, ByteRange chunk,
        const std::vector<LateBytes>* late, ChunkBuffers& buffers);
    Status readAgain(
        const FileToCombine& file, const WrittenFile& written, ByteRange chunk, ChunkBuffers& buffers);
    Result<std::string> sha256Of(
        const FileToCombine& file, const std::vector<io::Xxh3Digest>& chunks, ChunkBuffers& buffers);
    Status writeLate(const FileToCombine& file, const std::vector<LateBytes>& late);
    Status takeElements(const PieceRecord& record);
    Status takeSources(const PieceRecord& record);
    Status addPartials();
    Status addPartial(const PartialSum& partial, const Halt& halt);
    [[nodiscard]] PieceWalk walk(const Halt& halt);

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    const PartResources& m_resources;
    JobContext& m_job;
    SourcePool m_sources;
    SourceCrcs m_crcs;
    ElementDigests m_digests;
    std::vector<PartialSum> m_partialSums;
    std::vector<SourceCrcs::Gap> m_partialSources;
    std::vector<ChunkBuffers> m_buffers; ///< one per worker, from combine() on
    std::map<uint32_t, WrittenFile> m_completed; ///< by write()
    std::vector<WrittenFile> m_written;
};

} // namespace shardscope
