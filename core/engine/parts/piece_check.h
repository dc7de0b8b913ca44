// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/piece.h"
#include "core/engine/stream/chunk_sink.h"

#include <span>
#include <vector>

namespace shardscope {

/// Digests the bytes of a piece, passed in order.
class PieceDigests
{
public:
    explicit PieceDigests(uint64_t begin)
        : m_begin(begin)
        , m_at(begin)
    {
    }

    void update(std::span<const uint8_t> bytes);
    std::vector<BytesDigest> finish();

private:
    void endChunk();

    uint64_t m_begin; ///< of what m_chunk has
    uint64_t m_at;
    io::Xxh3 m_chunk;
    std::vector<BytesDigest> m_done;
};

/// Sets the part of `bytes`, which are at `offset` of the file, that is in `ranges` to zero.
void clearRanges(std::span<const ByteRange> ranges, uint64_t offset, std::span<uint8_t> bytes);

/// Reads a piece from the device and compares it with its record; bytes that are late count as zeros.
/// VerifyFailed.
Status compareWithRecord(const io::ReadFile& file, const PieceRecord& record, ChunkBuffers& buffers,
    StageTimes& times, const Halt& halt);

} // namespace shardscope
