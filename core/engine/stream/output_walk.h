// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/chunk_sink.h"
#include "core/engine/stream/element_digests.h"
#include "core/engine/stream/halt.h"
#include "core/engine/stream/source_crcs.h"
#include "core/engine/stream/source_pool.h"
#include "core/engine/stream/stage_times.h"
#include "core/plan/model/write_plan.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

struct WrittenRecord {
    std::string name;
    uint64_t bytes = 0;
    uint32_t crc32 = 0;
};

/// The shared data of all walks of a job.
struct WalkContext {
    const WritePlan& plan;
    SourcePool& sources;
    SourceCrcs& crcs;
    ElementDigests& digests;
    const ComputeBackend& backend;
    StageTimes& times;
    const Halt& halt;
};

/// Generates the bytes of one output file in order and writes them to a sink. Also sums CRCs of source and
/// output data, and digests of elements.
///
/// For a file that was finished before, it reads every byte from that file instead. CRCs and digests are then
/// the same as when the file is written.
class OutputWalk
{
public:
    OutputWalk(const WalkContext& context, const OutputFile& file, ChunkSink& sink,
        const io::ReadFile* finished = nullptr);

    /// The records of the file, empty for a plain one. Internal if the recipe does not result in `fileBytes`.
    Result<std::vector<WrittenRecord>> run(uint64_t fileBytes);

private:
    /// The part of a segment in the current room.
    struct Piece {
        Segment segment; ///< clipped to this part
        size_t at = 0; ///< in the room
    };

    Result<std::vector<WrittenRecord>> runArchive(uint64_t fileBytes);
    Status pourText(std::string_view text, uint32_t* crc);
    Status pourRecord(const OutputRecord& record, uint32_t& crc);
    Status pourSegments(const OutputRecord& record, uint32_t& crc);
    /// Fills m_pieces with the segments that fit in `roomBytes`. Returns their bytes, 0 at the end of the
    /// record.
    Result<size_t> gather(SegmentCursor& cursor, size_t roomBytes);
    Status checkSegment(const Segment& segment) const;
    /// Adds the unclaimed elements of the pieces to the sums of this room.
    void claim(std::span<const uint8_t> room);
    Status load(std::span<uint8_t> room);
    Status loadSources(std::span<uint8_t> room);
    /// Reads data to convert; compute() converts it, or this function if its memory is full.
    Status loadConverted(const io::ReadFile& file, const Segment& segment, std::span<uint8_t> out);
    void convertRead();
    /// Converts the read data and takes the sums of the room.
    void compute();
    void touch(const Segment& segment);
    /// Sums unclaimed bytes of a segment's source from `offset` of that file.
    Status sumSource(const Segment& segment, uint64_t offset, std::span<const uint8_t> bytes);
    Status sum(std::span<const uint8_t> bytes, uint32_t& recordCrc);
    Status sumRun(const Segment& segment, std::span<const uint8_t> bytes, uint32_t& recordCrc);
    /// One past the last piece from `first` on that continues it in the source file.
    [[nodiscard]] size_t runEnd(size_t first) const;
    Result<const io::ReadFile*> openSource(uint32_t source);

    const WalkContext& m_context;
    const OutputFile& m_file;
    ChunkSink& m_sink;
    const io::ReadFile* m_finished;
    std::vector<Piece> m_pieces;
    Segment m_segment; ///< the rest of the cursor's last segment
    std::vector<ByteRange> m_unclaimed;
    HostMemory m_unconverted;
    size_t m_unconvertedUsed = 0; ///< bytes
    std::vector<ElementCast> m_casts;
    SumBatch m_sums;
    std::pair<uint32_t, uint32_t> m_touched{Segment::kZero, 0}; ///< source and record
    uint32_t m_openIndex = Segment::kZero;
    std::shared_ptr<const io::ReadFile> m_openFile;
};

} // namespace shardscope
