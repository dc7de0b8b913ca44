// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/source_check.h"

#include "core/io/crc32.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

Status SourceCheck::readClaimed(const std::vector<SourceCrcs::Gap>& claimed) const
{
    const uint64_t bytes = std::accumulate(claimed.begin(), claimed.end(), uint64_t{0},
        [](uint64_t sum, const auto& gap) { return sum + gap.range.end - gap.range.begin; });
    job.beginPhase("checking the source", bytes);
    Halt halt(job);
    return runWorkers(claimed.size(), buffers.size(), halt,
        [&](size_t worker, size_t item) { return readRange(claimed[item], buffers[worker]); });
}

Status SourceCheck::readRest() const
{
    std::vector<SourceCrcs::Gap> claimed;
    std::vector<ByteRange> unclaimed;
    for (const SourceCrcs::Gap& gap : crcs.gaps()) {
        crcs.claim(gap.source, gap.record, gap.range, unclaimed);
        for (const ByteRange& range : unclaimed)
            claimed.push_back({gap.source, gap.record, range});
    }
    SHARDSCOPE_CHECK(readClaimed(claimed));
    return sources.checkUnchanged();
}

Status SourceCheck::readRange(const SourceCrcs::Gap& claimed, ChunkBuffers& buffer) const
{
    SHARDSCOPE_TRY(const auto file, sources.open(claimed.source));
    const uint64_t payload = plan.sources[claimed.source].records[claimed.record].payloadOffset;
    uint32_t crc = 0;
    for (uint64_t at = claimed.range.begin; at < claimed.range.end;) {
        SHARDSCOPE_CHECK(job.poll());
        const std::span<uint8_t> chunk(
            buffer.at(0), std::min<uint64_t>(buffer.bytes(), claimed.range.end - at));
        SHARDSCOPE_CHECK(file->readAt(payload + at, chunk));
        crc = io::crc32(crc, chunk);
        at += chunk.size();
        job.advance(chunk.size());
    }
    return crcs.complete(claimed.source, claimed.record, claimed.range, crc);
}

} // namespace shardscope
