// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/engine/stream: generates the bytes of planned files in bounded memory, with journal and manifest.
// Start with OutputWalk.

#include "core/engine/stream/chunk_sink.h"
#include "core/engine/stream/element_digests.h"
#include "core/engine/stream/halt.h"
#include "core/engine/stream/source_crcs.h"
#include "core/engine/stream/source_pool.h"
#include "core/engine/stream/stage_times.h"
#include "core/io/content_digest.h"
#include "core/plan/model/write_plan.h"
#include "core/torchfile/zip/zip_layout.h"

#include <memory>
#include <optional>
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

/// A finished output file, as in the manifest.
struct WrittenFile {
    std::string path; ///< relative to the target
    uint64_t bytes = 0;
    std::string digest; ///< of its content (content_digest.h)
    std::vector<io::Xxh3Digest> chunks; ///< for reading back within the run
    std::vector<WrittenRecord> records;
    io::FileIdentity left = {}; ///< with its name
};

/// The shared data of all walks of a job.
struct WalkContext {
    const WritePlan& plan;
    SourcePool& sources;
    SourceSums& crcs;
    ElementSums& digests;
    const ComputeBackend& backend;
    StageTimes& times;
    const Halt& halt;
};

/// The CRC of a part of one record's payload.
struct RecordPart {
    uint32_t record = 0;
    ByteRange range; ///< of the payload
    uint32_t crc32 = 0;
    uint64_t offset = 0; ///< of its first byte in the file
};

/// The CRCs of a file's records, for the bytes that depend on them: data descriptors, serialization id and
/// directory. Other walks of the same file may add parts at the same time.
class RecordCrcs
{
public:
    virtual ~RecordCrcs() = default;
    virtual void add(const RecordPart& part) = 0;
    /// These bytes of the file are late: no part will be added for them.
    virtual void addLate(ByteRange range) = 0;
    /// Of the whole payload. Waits for parts that other walks will add; none if some part will not be added.
    virtual Result<std::optional<uint32_t>> whole(uint32_t record) = 0;
};

/// What a walk of a part of a file results in.
struct WalkedWindow {
    std::vector<RecordPart> parts; ///< of the payloads, ascending
    std::vector<ByteRange> late; ///< bytes of the file that depend on unknown CRCs: zeros so far
};

/// Generates the bytes of one output file in order and writes them to a sink. Also sums CRCs of source and
/// output data, and digests of elements.
class OutputWalk
{
public:
    OutputWalk(const WalkContext& context, const OutputFile& file, ChunkSink& sink);

    /// The records of the file, empty for a plain one. Internal if the recipe does not result in `fileBytes`.
    Result<std::vector<WrittenRecord>> run(uint64_t fileBytes);
    /// Only the bytes of `window`, whose ends do not split an element (elementBytes()).
    Result<WalkedWindow> runWindow(uint64_t fileBytes, ByteRange window, RecordCrcs& crcs);

    /// A segment can be split at multiples of this from its start. `itemBytes`: of an element of its tensor.
    static uint64_t elementBytes(const Segment& segment, uint64_t itemBytes);

private:
    /// The part of a segment in the current room.
    struct Piece {
        Segment segment; ///< clipped to this part
        size_t at = 0; ///< in the room
    };

    [[nodiscard]] tl::unexpected<Error> planBug(const std::string& what) const;
    Status walkPlain(uint64_t fileBytes);
    Status walkArchive(uint64_t fileBytes, RecordCrcs& crcs);
    Status pourArchived(const ZipLayout& layout, uint32_t index, RecordCrcs& crcs);
    Status pourDirectory(const ZipLayout& layout, RecordCrcs& crcs);
    /// The CRCs of records [0, count); none if one of them is unknown.
    static Result<std::optional<std::vector<uint32_t>>> crcsOf(uint32_t count, RecordCrcs& crcs);
    [[nodiscard]] bool isInWindow(uint64_t begin, uint64_t bytes) const
    {
        return begin < m_window.end && begin + bytes > m_window.begin;
    }
    /// The part of the next `bytes` of the file that is in the window, from the first of them.
    [[nodiscard]] ByteRange inWindow(uint64_t bytes) const;
    /// Zeros for bytes that depend on unknown CRCs.
    Status pourLate(uint64_t bytes, RecordCrcs& crcs);
    Status pourText(std::string_view text, uint32_t* crc);
    /// What is in the window, with its CRC; `index` is that of the record.
    Status pourRecord(const OutputRecord& record, uint32_t index, RecordCrcs* crcs);
    Status pourSegments(const OutputRecord& record, ByteRange range, uint32_t& crc);
    void advance(uint64_t bytes);
    [[nodiscard]] uint64_t elementBytes() const; ///< of m_segment
    /// Leaves the cursor where byte `offset` of the record is next.
    Status skipTo(SegmentCursor& cursor, uint64_t offset);
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
    ByteRange m_window;
    uint64_t m_at = 0; ///< in the file: of the next byte
    WalkedWindow m_walked;
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
