// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/record_parts.h"

#include "core/io/crc32.h"
#include "core/plan/model/output_bytes.h"

#include <algorithm>
#include <chrono>

namespace shardscope {

tl::unexpected<Error> doesNotFit(const std::string& path)
{
    return fail(ErrorCode::WriteFailed, "what the parts recorded of this file does not fit together", path,
        "discard it with " + Hint::add("--restart"));
}

RecordParts::RecordParts(const OutputFile& recipe, const Halt& halt)
    : m_recipe(recipe)
    , m_halt(halt)
{
}

Result<std::unique_ptr<RecordParts>> RecordParts::make(
    const OutputFile& recipe, std::vector<ByteRange> covered, const Halt& halt)
{
    std::unique_ptr<RecordParts> out(new RecordParts(recipe, halt));
    if (recipe.torchArchive) {
        SHARDSCOPE_TRY(const ZipLayout layout, archiveLayout(recipe));
        out->m_payloads.reserve(recipe.records.size());
        for (uint32_t i = 0; i < recipe.records.size(); ++i)
            out->m_payloads.push_back(layout.payloadOffset(i));
    }
    for (const ByteRange& range : covered) {
        if (!out->m_covered.empty() && out->m_covered.back().end >= range.begin)
            out->m_covered.back().end = std::max(out->m_covered.back().end, range.end);
        else
            out->m_covered.push_back(range);
    }
    return out;
}

void RecordParts::add(const RecordPart& part)
{
    {
        const std::lock_guard lock(m_mutex);
        Pieces& pieces = m_parts[part.record];
        auto at = pieces.insert_or_assign(part.range.begin, Piece{part.range.end, part.crc32}).first;
        const auto mergeNext = [&](Pieces::iterator left) {
            const auto right = std::next(left);
            if (right == pieces.end() || left->second.end != right->first)
                return;
            left->second.crc
                = io::crc32Combine(left->second.crc, right->second.crc, right->second.end - right->first);
            left->second.end = right->second.end;
            pieces.erase(right);
        };
        mergeNext(at);
        if (at != pieces.begin())
            mergeNext(std::prev(at));
    }
    m_added.notify_all();
}

void RecordParts::addLate(ByteRange range)
{
    {
        const std::lock_guard lock(m_mutex);
        m_late.push_back(range);
    }
    m_added.notify_all();
}

std::vector<ByteRange> RecordParts::lateIn(ByteRange range)
{
    std::vector<ByteRange> out;
    const std::lock_guard lock(m_mutex);
    for (const ByteRange& late : m_late) {
        const ByteRange part{std::max(late.begin, range.begin), std::min(late.end, range.end)};
        if (part.begin < part.end)
            out.push_back(part);
    }
    std::ranges::sort(out, {}, &ByteRange::begin);
    return out;
}

Result<std::optional<uint32_t>> RecordParts::whole(uint32_t record)
{
    const uint64_t bytes = m_recipe.records[record].bytes;
    if (bytes == 0)
        return std::optional<uint32_t>(0);
    const ByteRange payload{m_payloads[record], m_payloads[record] + bytes};
    if (!isCovered(payload))
        return std::optional<uint32_t>();
    std::unique_lock lock(m_mutex);
    const Pieces& pieces = m_parts[record];
    while (pieces.empty() || pieces.begin()->first != 0 || pieces.begin()->second.end != bytes) {
        const bool isLate = std::ranges::any_of(m_late,
            [&](const ByteRange& range) { return range.begin < payload.end && payload.begin < range.end; });
        if (isLate)
            return std::optional<uint32_t>();
        SHARDSCOPE_CHECK(m_halt.poll());
        if (!m_waits)
            return doesNotFit(m_recipe.path);
        m_added.wait_for(lock, std::chrono::milliseconds(100));
    }
    return std::optional(pieces.begin()->second.crc);
}

bool RecordParts::isCovered(ByteRange range) const
{
    const auto after = std::ranges::upper_bound(m_covered, range.begin, {}, &ByteRange::begin);
    return after != m_covered.begin() && std::prev(after)->end >= range.end;
}

} // namespace shardscope
