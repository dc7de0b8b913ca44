// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/piece_check.h"

#include "core/io/crc32.h"

#include <algorithm>

namespace shardscope {

void PieceDigests::update(std::span<const uint8_t> bytes)
{
    while (!bytes.empty()) {
        const uint64_t chunkEnd = (m_at / io::kDigestChunkBytes + 1) * io::kDigestChunkBytes;
        const size_t count = static_cast<size_t>(std::min<uint64_t>(bytes.size(), chunkEnd - m_at));
        m_chunk.update(bytes.first(count));
        m_at += count;
        bytes = bytes.subspan(count);
        if (m_at == chunkEnd)
            endChunk();
    }
}

std::vector<BytesDigest> PieceDigests::finish()
{
    if (m_at > m_begin)
        endChunk();
    return std::move(m_done);
}

void PieceDigests::endChunk()
{
    m_done.push_back({{m_begin, m_at}, m_chunk.digest()});
    m_chunk.reset();
    m_begin = m_at;
}

void clearRanges(std::span<const ByteRange> ranges, uint64_t offset, std::span<uint8_t> bytes)
{
    for (const ByteRange& range : ranges) {
        const uint64_t begin = std::max(range.begin, offset);
        const uint64_t end = std::min(range.end, offset + bytes.size());
        if (begin < end)
            std::ranges::fill(bytes.subspan(begin - offset, end - begin), uint8_t{0});
    }
}

Status compareWithRecord(const io::ReadFile& file, const PieceRecord& record, ChunkBuffers& buffers,
    StageTimes& times, const Halt& halt)
{
    const auto differs = [&] {
        return fail(ErrorCode::VerifyFailed, "the file was read back with other bytes than were written",
            file.path().string(), "the disk or the memory corrupted the output; no output was published");
    };
    if (file.size() < record.piece.range.end)
        return differs();
    std::vector<uint32_t> crcs(record.parts.size());
    PieceDigests digests(record.piece.range.begin);
    for (uint64_t at = record.piece.range.begin; at < record.piece.range.end;) {
        SHARDSCOPE_CHECK(halt.poll());
        const std::span<uint8_t> room(
            buffers.at(0), std::min<uint64_t>(buffers.bytes(), record.piece.range.end - at));
        {
            const StageTimer timer(times, Stage::Verification);
            SHARDSCOPE_CHECK(file.readFromDevice(at, room));
        }
        const StageTimer timer(times, Stage::Checksums);
        clearRanges(record.late, at, room);
        digests.update(room);
        for (size_t i = 0; i < crcs.size(); ++i) {
            const RecordPart& part = record.parts[i];
            const uint64_t begin = std::max(part.offset, at);
            const uint64_t end
                = std::min(part.offset + (part.range.end - part.range.begin), at + room.size());
            if (begin < end)
                crcs[i] = io::crc32(crcs[i], room.subspan(begin - at, end - begin));
        }
        at += room.size();
        halt.job().advance(room.size());
    }
    const auto isSame = [](const BytesDigest& a, const BytesDigest& b) {
        return a.range.begin == b.range.begin && a.range.end == b.range.end && a.digest == b.digest;
    };
    if (!std::ranges::equal(digests.finish(), record.digests, isSame)
        || !std::ranges::equal(crcs, record.parts, {}, {}, &RecordPart::crc32))
        return differs();
    return {};
}

} // namespace shardscope
