// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/output_walk.h"

#include "core/engine/stream/gathered_rows.h"
#include "core/io/crc32.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <cstring>

namespace shardscope {

namespace {

/// The largest element's size.
constexpr size_t kSplitAlignment = 16;
/// Limits the list of pieces when segments are tiny.
constexpr size_t kMaxPieces = 4096;
/// From here on combining two CRCs is cheaper than reading the bytes again.
constexpr size_t kCombineFrom = 16384;

} // namespace

OutputWalk::OutputWalk(const WalkContext& context, const OutputFile& file, ChunkSink& sink)
    : m_context(context)
    , m_file(file)
    , m_sink(sink)
{
}

tl::unexpected<Error> OutputWalk::planBug(const std::string& what) const
{
    return fail(ErrorCode::Internal, "the plan is inconsistent: " + what, m_file.path,
        "this is a defect of the program; no output was published");
}

ByteRange OutputWalk::inWindow(uint64_t bytes) const
{
    const uint64_t begin = std::clamp(m_window.begin, m_at, m_at + bytes);
    const uint64_t end = std::clamp(m_window.end, begin, m_at + bytes);
    return {begin - m_at, end - m_at};
}

Status OutputWalk::pourText(std::string_view text, uint32_t* crc)
{
    const ByteRange part = inWindow(text.size());
    const uint64_t end = m_at + text.size();
    text = text.substr(part.begin, part.end - part.begin);
    m_at += part.begin;
    while (!text.empty()) {
        SHARDSCOPE_TRY(const std::span<uint8_t> room, m_sink.room(1));
        const size_t count = std::min(room.size(), text.size());
        std::memcpy(room.data(), text.data(), count);
        if (crc)
            *crc = io::crc32(*crc, room.first(count));
        m_sink.filled(count);
        m_at += count;
        text.remove_prefix(count);
    }
    m_at = end;
    return {};
}

Status OutputWalk::pourRecord(const OutputRecord& record, uint32_t index, RecordCrcs* crcs)
{
    const ByteRange part = inWindow(record.bytes);
    const uint64_t end = m_at + record.bytes;
    const bool isPoured = part.begin < part.end || record.bytes == 0;
    if (isPoured) {
        RecordPart sum{index, part, 0, m_at + part.begin};
        if (record.content == OutputRecord::Content::Segments) {
            SHARDSCOPE_CHECK(pourSegments(record, part, sum.crc32));
        } else {
            if (record.literal.size() != record.bytes)
                return planBug("record '" + record.name + "' does not have the planned bytes");
            SHARDSCOPE_CHECK(pourText(record.literal, &sum.crc32));
        }
        if (crcs && record.bytes > 0) {
            crcs->add(sum);
            m_walked.parts.push_back(sum);
        }
    }
    m_at = end;
    return {};
}

Status OutputWalk::pourSegments(const OutputRecord& record, ByteRange range, uint32_t& crc)
{
    const std::unique_ptr<SegmentCursor> cursor = record.cursor();
    m_segment = {};
    SHARDSCOPE_CHECK(skipTo(*cursor, range.begin));
    m_at += range.begin;
    uint64_t total = range.begin;
    while (total < range.end) {
        SHARDSCOPE_CHECK(m_context.halt.poll());
        SHARDSCOPE_TRY(const std::span<uint8_t> room, m_sink.room(kSplitAlignment));
        SHARDSCOPE_TRY(
            const size_t count, gather(*cursor, std::min<uint64_t>(room.size(), range.end - total)));
        if (count == 0)
            break;
        claim(room.first(count));
        SHARDSCOPE_CHECK(load(room.first(count)));
        compute();
        SHARDSCOPE_CHECK(sum(room.first(count), crc));
        m_sink.filled(count);
        m_at += count;
        total += count;
    }
    const bool isLonger = range.end == record.bytes
        && (m_segment.bytes > 0 || (total == range.end && cursor->next(m_segment)));
    if (total != range.end || isLonger)
        return planBug("the segments of record '" + record.name + "' do not add up to its size");
    return {};
}

Status OutputWalk::skipTo(SegmentCursor& cursor, uint64_t offset)
{
    while (offset > 0) {
        if (!cursor.next(m_segment))
            return planBug("the segments of a record end too early");
        SHARDSCOPE_CHECK(checkSegment(m_segment));
        if (m_segment.bytes > offset && offset % elementBytes() != 0)
            return planBug("a part of the file splits an element");
        const uint64_t skipped = std::min(offset, m_segment.bytes);
        advance(skipped);
        offset -= skipped;
    }
    return {};
}

uint64_t OutputWalk::elementBytes(const Segment& segment, uint64_t itemBytes)
{
    const bool isTyped = segment.isConverted() || segment.isGathered();
    return std::max<uint64_t>(
        segment.tensor == Segment::kNoTensor ? 1 : itemBytes, isTyped ? itemSize(segment.outputType) : 1);
}

uint64_t OutputWalk::elementBytes() const
{
    const bool hasTensor = m_segment.tensor != Segment::kNoTensor;
    return elementBytes(m_segment, hasTensor ? m_context.digests.itemBytes(m_segment.tensor) : 1);
}

/// Moves the begin of m_segment.
void OutputWalk::advance(uint64_t bytes)
{
    Segment skipped = m_segment;
    skipped.bytes = bytes;
    m_segment.sourceOffset += m_segment.isGathered()
        ? bytes / itemSize(m_segment.outputType) * m_segment.sourceStep * itemSize(m_segment.sourceType)
        : skipped.sourceBytes();
    m_segment.bytes -= bytes;
    if (m_segment.tensor != Segment::kNoTensor)
        m_segment.firstElement += bytes / m_context.digests.itemBytes(m_segment.tensor);
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
            count -= count % elementBytes();
        if (count == 0)
            break;
        Piece piece{m_segment, used};
        piece.segment.bytes = count;
        m_pieces.push_back(piece);
        used += count;
        advance(count);
    }
    return used;
}

Status OutputWalk::checkSegment(const Segment& segment) const
{
    if (segment.bytes == 0)
        return planBug("a segment without bytes");
    if (segment.tensor != Segment::kNoTensor) {
        if (segment.tensor >= m_context.plan.tensors.size())
            return planBug("a segment of a tensor that is not planned");
        const uint64_t elements = m_context.plan.tensors[segment.tensor].elements;
        const uint64_t item = m_context.digests.itemBytes(segment.tensor);
        if (segment.bytes % item != 0 || segment.firstElement > elements
            || segment.bytes / item > elements - segment.firstElement)
            return planBug("a segment splits an element or leaves its tensor");
    }
    if (segment.source == Segment::kZero)
        return {};
    const auto& sources = m_context.plan.sources;
    if (segment.source >= sources.size() || segment.record >= sources[segment.source].records.size())
        return planBug("a segment of a record that does not exist");
    const ZipRecord& record = sources[segment.source].records[segment.record];
    if (segment.isConverted()
        && (!canConvert(segment.sourceType, segment.outputType)
            || segment.bytes % itemSize(segment.outputType) != 0))
        return planBug("a segment that cannot be converted");
    if (segment.isGathered()
        && (segment.tensor == Segment::kNoTensor || itemSize(segment.sourceType) == 0
            || m_context.plan.tensors[segment.tensor].elements % segment.sourceStep != 0))
        return planBug("a gathered segment that belongs to no matrix");
    if (record.deflated || record.damaged || segment.sourceOffset < record.payloadOffset
        || segment.sourceBytes() > record.bytes
        || segment.sourceOffset - record.payloadOffset > record.bytes - segment.sourceBytes())
        return planBug("a segment leaves its record, or the record cannot be copied from");
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
            m_context.digests.claim(piece.segment.tensor, piece.segment.firstElement, m_at + piece.at,
                room.subspan(piece.at, piece.segment.bytes), m_sums);
    }
}

Status OutputWalk::load(std::span<uint8_t> room)
{
    const StageTimer timer(m_context.times, Stage::Reading);
    return loadSources(room);
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
        std::move(rows), [&](uint32_t tensor) { return m_context.plan.tensors[tensor].elements; },
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
    const uint64_t begin
        = segment.sourceOffset - m_context.plan.sources[segment.source].records[segment.record].payloadOffset;
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
        = offset - m_context.plan.sources[segment.source].records[segment.record].payloadOffset;
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
