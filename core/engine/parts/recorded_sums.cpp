// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/recorded_sums.h"

#include "core/io/crc32.h"

namespace shardscope {

void RecordedElements::claim(
    uint32_t tensor, uint64_t firstElement, uint64_t offset, std::span<const uint8_t> bytes, SumBatch& batch)
{
    batch.sums.push_back(m_keys.sumOf(tensor, firstElement, bytes));
    batch.tensors.push_back(tensor);
    batch.offsets.push_back(offset);
}

void RecordedElements::add(SumBatch& batch)
{
    for (size_t i = 0; i < batch.sums.size(); ++i) {
        const ElementSum& sum = batch.sums[i];
        const ElementsSum added{
            batch.tensors[i], sum.first, sum.bytes.size() / sum.itemBytes, batch.offsets[i], sum.digest};
        if (!m_sums.empty()) {
            ElementsSum& last = m_sums.back();
            if (last.tensor == added.tensor && last.first + last.count == added.first
                && last.offset + last.count * sum.itemBytes == added.offset) {
                last.count += added.count;
                last.digest += added.digest;
                continue;
            }
        }
        m_sums.push_back(added);
    }
    batch.clear();
}

void RecordedSources::touch(uint32_t source, uint32_t record)
{
    if (m_sources[source].records[record].crcPresent)
        m_touched.emplace_back(source, record);
}

void RecordedSources::claim(
    uint32_t source, uint32_t record, ByteRange range, std::vector<ByteRange>& unclaimed)
{
    unclaimed.clear();
    if (m_sources[source].records[record].crcPresent && range.begin < range.end)
        unclaimed.push_back(range);
}

Status RecordedSources::complete(uint32_t source, uint32_t record, ByteRange range, uint32_t crc)
{
    const bool continues = !m_parts.empty() && m_parts.back().source == source
        && m_parts.back().record == record && m_parts.back().range.end == range.begin;
    if (continues) {
        SourcePart& last = m_parts.back();
        last.crc32 = io::crc32Combine(last.crc32, crc, range.end - range.begin);
        last.range.end = range.end;
    } else {
        m_parts.push_back({source, record, range, crc});
    }
    const SourcePart& last = m_parts.back();
    if (last.range.begin == 0 && last.range.end == m_sources[source].records[record].bytes)
        return checkSavedCrc(m_sources[source], record, last.crc32);
    return {};
}

} // namespace shardscope
