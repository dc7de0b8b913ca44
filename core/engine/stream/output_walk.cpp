// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/output_walk.h"

#include "core/engine/stream/gathered_rows.h"
#include "core/io/crc32.h"
#include "core/plan/model/output_bytes.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <cstring>

namespace shardscope {

namespace {

/// Segments are split at multiples of this from their own start, so that no element is split: the largest
/// element's size.
constexpr size_t kSplitAlignment = 16;
/// Limits the list of pieces when segments are tiny.
constexpr size_t kMaxPieces = 4096;
/// From here on combining two CRCs is cheaper than reading the bytes again.
constexpr size_t kCombineFrom = 16384;

tl::unexpected<Error> planBug(const std::string& what, const OutputFile& file)
{
    return fail(ErrorCode::Internal, "the plan is inconsistent: " + what, file.path,
        "this is a defect of the program; no output was published");
}

} // namespace

OutputWalk::OutputWalk(
    const WalkContext& context, const OutputFile& file, ChunkSink& sink, const io::ReadFile* finished)
    : m_context(context)
    , m_file(file)
    , m_sink(sink)
    , m_finished(finished)
{
}

Result<std::vector<WrittenRecord>> OutputWalk::run(uint64_t fileBytes)
{
    if (m_file.torchArchive)
        return runArchive(fileBytes);
    uint64_t bytes = 0;
    for (const OutputRecord& record : m_file.records)
        bytes += record.bytes;
    if (bytes != fileBytes)
        return planBug(
            "a plain file of " + std::to_string(bytes) + " bytes was planned as " + std::to_string(fileBytes),
            m_file);
    for (const OutputRecord& record : m_file.records) {
        uint32_t crc = 0; // plain files have none
        SHARDSCOPE_CHECK(pourRecord(record, crc));
    }
    SHARDSCOPE_CHECK(m_sink.finish());
    return std::vector<WrittenRecord>{};
}

Result<std::vector<WrittenRecord>> OutputWalk::runArchive(uint64_t fileBytes)
{
    SHARDSCOPE_TRY(const ZipLayout layout, archiveLayout(m_file));
    if (layout.totalBytes() != fileBytes)
        return planBug("an archive of " + std::to_string(layout.totalBytes()) + " bytes was planned as "
                + std::to_string(fileBytes),
            m_file);
    std::vector<uint32_t> crcs(m_file.records.size());
    for (uint32_t i = 0; i < crcs.size(); ++i) {
        const OutputRecord& record = m_file.records[i];
        SHARDSCOPE_CHECK(pourText(layout.localHeader(i), nullptr));
        if (record.content == OutputRecord::Content::SerializationId) {
            if (i + 1 != crcs.size())
                return planBug("the serialization id is not the last record", m_file);
            std::vector<ZipRecordSpec> others = layout.records();
            std::vector<uint32_t> otherCrcs = crcs;
            others.pop_back();
            otherCrcs.pop_back();
            OutputRecord text = record;
            text.literal = serializationId(others, otherCrcs);
            text.content = OutputRecord::Content::Literal;
            SHARDSCOPE_CHECK(pourRecord(text, crcs[i]));
        } else {
            SHARDSCOPE_CHECK(pourRecord(record, crcs[i]));
        }
        SHARDSCOPE_CHECK(pourText(layout.dataDescriptor(i, crcs[i]), nullptr));
    }
    SHARDSCOPE_CHECK(pourText(layout.directory(crcs), nullptr));
    SHARDSCOPE_CHECK(m_sink.finish());
    std::vector<WrittenRecord> out;
    out.reserve(crcs.size());
    for (size_t i = 0; i < crcs.size(); ++i)
        out.push_back({m_file.records[i].name, m_file.records[i].bytes, crcs[i]});
    return out;
}

Status OutputWalk::pourText(std::string_view text, uint32_t* crc)
{
    while (!text.empty()) {
        SHARDSCOPE_TRY(const std::span<uint8_t> room, m_sink.room(1));
        const size_t count = std::min(room.size(), text.size());
        if (m_finished)
            SHARDSCOPE_CHECK(m_finished->readAt(m_sink.offset(), room.first(count)));
        else
            std::memcpy(room.data(), text.data(), count);
        if (crc)
            *crc = io::crc32(*crc, room.first(count));
        m_sink.filled(count);
        text.remove_prefix(count);
    }
    return {};
}

Status OutputWalk::pourRecord(const OutputRecord& record, uint32_t& crc)
{
    if (record.content == OutputRecord::Content::Segments)
        return pourSegments(record, crc);
    if (record.literal.size() != record.bytes)
        return planBug("record '" + record.name + "' does not have the planned bytes", m_file);
    return pourText(record.literal, &crc);
}

Status OutputWalk::pourSegments(const OutputRecord& record, uint32_t& crc)
{
    const std::unique_ptr<SegmentCursor> cursor = record.cursor();
    m_segment = {};
    uint64_t total = 0;
    while (total <= record.bytes) {
        SHARDSCOPE_CHECK(m_context.halt.poll());
        SHARDSCOPE_TRY(const std::span<uint8_t> room, m_sink.room(kSplitAlignment));
        SHARDSCOPE_TRY(const size_t count, gather(*cursor, room.size()));
        if (count == 0)
            break;
        claim(room.first(count));
        SHARDSCOPE_CHECK(load(room.first(count)));
        compute();
        SHARDSCOPE_CHECK(sum(room.first(count), crc));
        m_sink.filled(count);
        total += count;
    }
    if (total != record.bytes)
        return planBug("the segments of record '" + record.name + "' do not add up to its size", m_file);
    return {};
}

Result<size_t> OutputWalk::gather(SegmentCursor& cursor, size_t roomBytes)
{
    m_pieces.clear();
    size_t used = 0;
    while (used < roomBytes && m_pieces.size() < kMaxPieces) {
        if (m_segment.bytes == 0) {
            if (!cursor.next(m_segment)) {
                m_segment.bytes = 0;
                break;
            }
            SHARDSCOPE_CHECK(checkSegment(m_segment));
        }
        uint64_t count = std::min<uint64_t>(m_segment.bytes, roomBytes - used);
        if (count < m_segment.bytes)
            count -= count % kSplitAlignment;
        if (count == 0)
            break;
        Piece piece{m_segment, used};
        piece.segment.bytes = count;
        m_pieces.push_back(piece);
        used += count;
        m_segment.sourceOffset += piece.segment.isGathered()
            ? count / itemSize(m_segment.outputType) * m_segment.sourceStep * itemSize(m_segment.sourceType)
            : piece.segment.sourceBytes();
        m_segment.bytes -= count;
        if (m_segment.tensor != Segment::kNoTensor)
            m_segment.firstElement += count / m_context.digests.itemBytes(m_segment.tensor);
    }
    return used;
}

Status OutputWalk::checkSegment(const Segment& segment) const
{
    if (segment.bytes == 0)
        return planBug("a segment without bytes", m_file);
    if (segment.tensor != Segment::kNoTensor) {
        if (segment.tensor >= m_context.plan.tensors().size())
            return planBug("a segment of a tensor that is not planned", m_file);
        const uint64_t elements = m_context.plan.tensors()[segment.tensor].elements;
        const uint64_t item = m_context.digests.itemBytes(segment.tensor);
        if (segment.bytes % item != 0 || segment.firstElement > elements
            || segment.bytes / item > elements - segment.firstElement)
            return planBug("a segment splits an element or leaves its tensor", m_file);
    }
    if (segment.source == Segment::kZero)
        return {};
    const auto& sources = m_context.plan.sources();
    if (segment.source >= sources.size() || segment.record >= sources[segment.source].records.size())
        return planBug("a segment of a record that does not exist", m_file);
    const ZipRecord& record = sources[segment.source].records[segment.record];
    if (segment.isConverted()
        && (!canConvert(segment.sourceType, segment.outputType)
            || segment.bytes % itemSize(segment.outputType) != 0))
        return planBug("a segment that cannot be converted", m_file);
    if (segment.isGathered()
        && (segment.tensor == Segment::kNoTensor || itemSize(segment.sourceType) == 0
            || m_context.plan.tensors()[segment.tensor].elements % segment.sourceStep != 0))
        return planBug("a gathered segment that belongs to no matrix", m_file);
    if (record.deflated || record.damaged || segment.sourceOffset < record.payloadOffset
        || segment.sourceBytes() > record.bytes
        || segment.sourceOffset - record.payloadOffset > record.bytes - segment.sourceBytes())
        return planBug("a segment leaves its record, or the record cannot be copied from", m_file);
    return {};
}

size_t OutputWalk::runEnd(size_t first) const
{
    size_t end = first + 1;
    for (; end < m_pieces.size(); ++end) {
        const Segment& left = m_pieces[end - 1].segment;
        const Segment& right = m_pieces[end].segment;
        const bool follows = left.source == right.source && !left.isConverted() && !right.isConverted()
            && !left.isGathered() && !right.isGathered()
            && (left.source == Segment::kZero
                || (left.record == right.record && left.sourceOffset + left.bytes == right.sourceOffset));
        if (!follows)
            break;
    }
    return end;
}

void OutputWalk::claim(std::span<const uint8_t> room)
{
    for (const Piece& piece : m_pieces) {
        if (piece.segment.tensor != Segment::kNoTensor)
            m_context.digests.claim(piece.segment.tensor, piece.segment.firstElement,
                room.subspan(piece.at, piece.segment.bytes), m_sums);
    }
}

Status OutputWalk::load(std::span<uint8_t> room)
{
    const StageTimer timer(m_context.times, Stage::Reading);
    return m_finished ? m_finished->readAt(m_sink.offset(), room) : loadSources(room);
}

Status OutputWalk::loadSources(std::span<uint8_t> room)
{
    std::vector<GatheredRow> rows;
    for (size_t first = 0; first < m_pieces.size();) {
        const size_t end = runEnd(first);
        const size_t at = m_pieces[first].at;
        const size_t bytes = (end < m_pieces.size() ? m_pieces[end].at : room.size()) - at;
        const Segment& segment = m_pieces[first].segment;
        if (segment.source == Segment::kZero) {
            std::memset(room.data() + at, 0, bytes);
        } else if (segment.isGathered()) {
            rows.push_back({segment, room.subspan(at, bytes)});
        } else {
            SHARDSCOPE_TRY(const io::ReadFile* file, openSource(segment.source));
            const auto read = segment.isConverted()
                ? loadConverted(*file, segment, room.subspan(at, bytes))
                : file->readAt(segment.sourceOffset, room.subspan(at, bytes));
            if (!read) {
                SHARDSCOPE_CHECK(file->checkUnchanged()); // reports a changed source first
                return read;
            }
        }
        first = end;
    }
    if (rows.empty())
        return {};
    return loadGatheredRows(
        std::move(rows), [&](uint32_t tensor) { return m_context.plan.tensors()[tensor].elements; },
        [&](uint32_t source) { return openSource(source); });
}

Status OutputWalk::loadConverted(const io::ReadFile& file, const Segment& segment, std::span<uint8_t> out)
{
    const uint64_t capacity = m_context.backend.batchBytes();
    if (!m_unconverted)
        m_unconverted = m_context.backend.hostMemory(capacity);
    const uint64_t inItem = itemSize(segment.sourceType);
    const uint64_t outItem = itemSize(segment.outputType);
    uint64_t offset = segment.sourceOffset;
    while (!out.empty()) {
        if (m_unconvertedUsed + kSplitAlignment > capacity)
            convertRead();
        const uint64_t count
            = std::min<uint64_t>((capacity - m_unconvertedUsed) / inItem, out.size() / outItem);
        const std::span<uint8_t> in(m_unconverted.get() + m_unconvertedUsed, count * inItem);
        SHARDSCOPE_CHECK(file.readAt(offset, in));
        SHARDSCOPE_CHECK(sumSource(segment, offset, in));
        m_casts.push_back({segment.sourceType, in, segment.outputType, out.first(count * outItem)});
        m_unconvertedUsed += (in.size() + kSplitAlignment - 1) / kSplitAlignment * kSplitAlignment;
        offset += in.size();
        out = out.subspan(count * outItem);
    }
    return {};
}

void OutputWalk::convertRead()
{
    const StageTimer timer(m_context.times, Stage::Arithmetic);
    m_context.backend.transform(m_casts, {});
    m_casts.clear();
    m_unconvertedUsed = 0;
}

void OutputWalk::compute()
{
    if (m_casts.empty() && m_sums.sums.empty())
        return;
    const StageTimer timer(m_context.times, Stage::Arithmetic);
    m_context.backend.transform(m_casts, m_sums.sums);
    m_casts.clear();
    m_unconvertedUsed = 0;
    m_context.digests.add(m_sums);
}

Status OutputWalk::sum(std::span<const uint8_t> bytes, uint32_t& recordCrc)
{
    const StageTimer timer(m_context.times, Stage::Checksums);
    for (size_t first = 0; first < m_pieces.size();) {
        const size_t end = runEnd(first);
        const size_t at = m_pieces[first].at;
        const size_t runBytes = (end < m_pieces.size() ? m_pieces[end].at : bytes.size()) - at;
        SHARDSCOPE_CHECK(sumRun(m_pieces[first].segment, bytes.subspan(at, runBytes), recordCrc));
        first = end;
    }
    return {};
}

Status OutputWalk::sumRun(const Segment& segment, std::span<const uint8_t> bytes, uint32_t& recordCrc)
{
    // Converted data was summed while it was read. Gathered data is checked against the source's CRC when the
    // source's elements are copied or, at the end, by reading the rest. The same applies to data that an
    // earlier run converted.
    if (segment.source == Segment::kZero || segment.isConverted() || segment.isGathered()) {
        if (segment.source != Segment::kZero)
            touch(segment);
        recordCrc = io::crc32(recordCrc, bytes);
        return {};
    }
    const uint64_t begin = segment.sourceOffset
        - m_context.plan.sources()[segment.source].records[segment.record].payloadOffset;
    m_context.crcs.claim(segment.source, segment.record, {begin, begin + bytes.size()}, m_unclaimed);
    bool combined = false;
    for (const ByteRange& range : m_unclaimed) {
        const auto part = bytes.subspan(range.begin - begin, range.end - range.begin);
        const uint32_t crc = io::crc32(0, part);
        if (part.size() == bytes.size() && part.size() >= kCombineFrom) {
            recordCrc = io::crc32Combine(recordCrc, crc, part.size());
            combined = true;
        }
        SHARDSCOPE_CHECK(m_context.crcs.complete(segment.source, segment.record, range, crc));
    }
    if (!combined)
        recordCrc = io::crc32(recordCrc, bytes);
    return {};
}

void OutputWalk::touch(const Segment& segment)
{
    const std::pair record(segment.source, segment.record);
    if (record == m_touched)
        return;
    m_touched = record;
    m_context.crcs.touch(segment.source, segment.record);
}

Status OutputWalk::sumSource(const Segment& segment, uint64_t offset, std::span<const uint8_t> bytes)
{
    const uint64_t begin
        = offset - m_context.plan.sources()[segment.source].records[segment.record].payloadOffset;
    m_context.crcs.claim(segment.source, segment.record, {begin, begin + bytes.size()}, m_unclaimed);
    for (const ByteRange& range : m_unclaimed) {
        const uint32_t crc = io::crc32(0, bytes.subspan(range.begin - begin, range.end - range.begin));
        SHARDSCOPE_CHECK(m_context.crcs.complete(segment.source, segment.record, range, crc));
    }
    return {};
}

Result<const io::ReadFile*> OutputWalk::openSource(uint32_t source)
{
    if (source != m_openIndex || !m_openFile) {
        SHARDSCOPE_TRY(m_openFile, m_context.sources.open(source));
        m_openIndex = source;
    }
    return m_openFile.get();
}

} // namespace shardscope
