// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/source_crcs.h"

#include "core/io/crc32.h"

#include <algorithm>

namespace shardscope {

Status checkSavedCrc(const PlanSource& source, uint32_t record, uint32_t crc)
{
    if (crc == source.records[record].crc32)
        return {};
    return fail(ErrorCode::Damaged,
        "the bytes of record '" + source.records[record].name + "' do not match their saved checksum",
        source.path.string(), "restore the file from a copy; no output was published");
}

SourceCrcs::SourceCrcs(const std::vector<PlanSource>& sources)
    : m_sources(sources)
{
    m_perSource.reserve(sources.size());
    for (size_t i = 0; i < sources.size(); ++i)
        m_perSource.push_back(std::make_unique<PerSource>());
}

void SourceCrcs::touch(uint32_t source, uint32_t record)
{
    if (!m_sources[source].records[record].crcPresent)
        return;
    PerSource& mine = *m_perSource[source];
    const std::lock_guard lock(mine.mutex);
    mine.touched.try_emplace(record);
}

void SourceCrcs::claim(uint32_t source, uint32_t record, ByteRange range, std::vector<ByteRange>& unclaimed)
{
    unclaimed.clear();
    if (!m_sources[source].records[record].crcPresent || range.begin >= range.end)
        return;
    PerSource& mine = *m_perSource[source];
    const std::lock_guard lock(mine.mutex);
    Pieces& pieces = mine.touched[record];
    auto next = pieces.upper_bound(range.begin);
    if (next != pieces.begin() && std::prev(next)->second.end > range.begin)
        --next;
    uint64_t at = range.begin;
    for (; next != pieces.end() && next->first < range.end; ++next) {
        if (next->first > at)
            unclaimed.push_back({at, next->first});
        at = std::max(at, next->second.end);
    }
    if (at < range.end)
        unclaimed.push_back({at, range.end});
    for (const ByteRange& part : unclaimed)
        pieces.emplace(part.begin, Piece{part.end, 0, false});
}

Status SourceCrcs::complete(uint32_t source, uint32_t record, ByteRange range, uint32_t crc)
{
    PerSource& mine = *m_perSource[source];
    const std::lock_guard lock(mine.mutex);
    Pieces& pieces = mine.touched[record];
    auto piece = pieces.find(range.begin);
    piece->second.crc = crc;
    piece->second.done = true;
    const auto mergeNext = [&](Pieces::iterator left) {
        const auto right = std::next(left);
        if (right == pieces.end() || !right->second.done || left->second.end != right->first)
            return;
        left->second.crc
            = io::crc32Combine(left->second.crc, right->second.crc, right->second.end - right->first);
        left->second.end = right->second.end;
        pieces.erase(right);
    };
    mergeNext(piece);
    if (piece != pieces.begin() && std::prev(piece)->second.done) {
        const auto left = std::prev(piece);
        if (left->second.end == piece->first) {
            mergeNext(left);
            piece = left;
        }
    }
    if (piece->first == 0 && piece->second.end == m_sources[source].records[record].bytes)
        return checkSavedCrc(m_sources[source], record, piece->second.crc);
    return {};
}

std::vector<SourceCrcs::Gap> SourceCrcs::gaps() const
{
    std::vector<Gap> out;
    for (uint32_t source = 0; source < m_perSource.size(); ++source) {
        const size_t firstOfSource = out.size();
        for (const auto& [record, pieces] : m_perSource[source]->touched) {
            uint64_t at = 0;
            for (const auto& [begin, piece] : pieces) {
                if (begin > at)
                    out.push_back({source, record, {at, begin}});
                at = piece.end;
            }
            const uint64_t bytes = m_sources[source].records[record].bytes;
            if (at < bytes)
                out.push_back({source, record, {at, bytes}});
        }
        std::sort(out.begin() + static_cast<std::ptrdiff_t>(firstOfSource), out.end(),
            [](const Gap& a, const Gap& b) {
                return std::pair(a.record, a.range.begin) < std::pair(b.record, b.range.begin);
            });
    }
    return out;
}

} // namespace shardscope
