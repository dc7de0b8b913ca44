// SPDX-License-Identifier: Apache-2.0
#include "core/partition/flat_partition.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Rows × elements in each of them, half open.
struct Block {
    uint64_t rowBegin = 0;
    uint64_t rowEnd = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
};

/// The payload in a block, for rows of `stride` elements that begin with `total` elements of payload.
uint64_t payloadOfBlock(uint64_t total, uint64_t stride, const Block& block)
{
    const auto [rowBegin, rowEnd, begin, end] = block;
    if (begin >= end || rowBegin >= rowEnd || stride == 0)
        return 0;
    const uint64_t wholeRows = total >= end ? (total - end) / stride + 1 : 0;
    const uint64_t split = std::clamp(wholeRows, rowBegin, rowEnd);
    uint64_t sum = (split - rowBegin) * (end - begin);
    // The payload ends inside [begin, end) in at most one row, because the window is not longer than a row.
    if (split < rowEnd && total > split * stride + begin)
        sum += std::min(total - split * stride, end) - begin;
    return sum;
}

} // namespace

uint64_t FlatPartition::slicedPayloadBefore(uint64_t rank) const
{
    if (rank >= m_ranks)
        return payloadElements();
    const auto next = std::partition_point(
        m_shortEnds.begin(), m_shortEnds.end(), [rank](const ShortEnd& end) { return end.rank < rank; });
    const uint64_t capacity = rank * m_partition;
    return next == m_shortEnds.begin() ? capacity
                                       : capacity - (rank * (next - 1)->slices - (next - 1)->payload);
}

uint64_t FlatPartition::slicedPayloadBefore(uint64_t rank, uint32_t paramBegin, uint32_t paramEnd) const
{
    if (paramBegin == 0 && paramEnd == paramCount())
        return slicedPayloadBefore(rank);
    if (rank >= m_ranks)
        return m_payloadStarts[paramEnd] - m_payloadStarts[paramBegin];
    uint64_t sum = rank * (m_starts[paramEnd] - m_starts[paramBegin]);
    for (auto it = std::lower_bound(m_sparse.begin(), m_sparse.end(), paramBegin);
         it != m_sparse.end() && *it < paramEnd; ++it) {
        const uint64_t capacity = rank * sliceElements(*it);
        sum -= capacity - std::min(capacity, paramElements(*it));
    }
    return sum;
}

uint64_t FlatPartition::payloadBefore(uint64_t offset) const
{
    if (m_starts.empty() || offset >= filledElements())
        return std::min(offset, payloadElements());
    const uint32_t param = paramAt(offset);
    return m_payloadStarts[param] + std::min(offset - paramStart(param), paramElements(param));
}

uint32_t FlatPartition::paramOfPayload(uint64_t n) const
{
    const auto after = std::upper_bound(m_payloadStarts.begin(), m_payloadStarts.end(), n);
    return static_cast<uint32_t>(after - m_payloadStarts.begin() - 1);
}

uint64_t FlatPartition::leanElementsOn(uint32_t rank) const
{
    if (rank >= m_ranks)
        return 0;
    if (m_rule == PartitionRule::Sliced)
        return m_partition;
    return payloadOfBlock(filledElements(), m_partition, {rank, rank + uint64_t{1}, 0, m_partition});
}

uint64_t FlatPartition::payloadOn(uint32_t rank) const
{
    if (rank >= m_ranks)
        return 0;
    if (m_rule == PartitionRule::Contiguous)
        return payloadBefore((rank + uint64_t{1}) * m_partition) - payloadBefore(rank * m_partition);
    return slicedPayloadBefore(rank + uint64_t{1}) - slicedPayloadBefore(rank);
}

uint64_t FlatPartition::payloadIn(uint32_t rankBegin, uint32_t rankEnd, uint64_t begin, uint64_t end) const
{
    end = std::min(end, m_partition);
    rankEnd = std::min(rankEnd, m_ranks);
    if (rankBegin >= rankEnd || begin >= end)
        return 0;
    if (m_rule == PartitionRule::Contiguous && m_parameterAlignment == 1)
        return payloadOfBlock(payloadElements(), m_partition, {rankBegin, rankEnd, begin, end});
    if (m_rule == PartitionRule::Contiguous) {
        if (begin == 0 && end == m_partition)
            return payloadBefore(rankEnd * m_partition) - payloadBefore(rankBegin * m_partition);
        uint64_t sum = 0;
        for (uint64_t rank = rankBegin; rank < rankEnd; ++rank)
            sum += payloadBefore(rank * m_partition + end) - payloadBefore(rank * m_partition + begin);
        return sum;
    }

    // Parameters [first, last] intersect; those at an edge of the window are counted separately.
    uint32_t first = paramAt(begin);
    const uint32_t last = paramAt(end - 1);
    const auto clipped = [&](uint32_t param) {
        const uint64_t start = m_starts[param];
        const uint64_t slice = sliceElements(param);
        return payloadOfBlock(paramElements(param), slice,
            {rankBegin, rankEnd, std::max(begin, start) - start, std::min(end - start, slice)});
    };
    uint64_t sum = 0;
    if (m_starts[first] < begin)
        sum += clipped(first++);
    uint32_t afterWhole = last + 1;
    if (first <= last && m_starts[afterWhole] > end)
        sum += clipped(--afterWhole);
    if (first < afterWhole)
        sum += slicedPayloadBefore(rankEnd, first, afterWhole)
            - slicedPayloadBefore(rankBegin, first, afterWhole);
    return sum;
}

uint32_t FlatPartition::holdersInContiguous(
    uint64_t begin, uint64_t end, uint32_t firstParam, uint32_t& next) const
{
    end = std::min(end, filledElements());
    next = firstParam;
    if (begin >= end)
        return 0;
    const uint32_t atBegin = paramAt(begin);
    const uint32_t first = std::max(begin < payloadEndOf(atBegin) ? atBegin : atBegin + 1, firstParam);
    next = std::max(paramAt(end - 1) + 1, firstParam);
    const auto empty = std::lower_bound(m_sparse.begin(), m_sparse.end(), next)
        - std::lower_bound(m_sparse.begin(), m_sparse.end(), first);
    return next <= first ? 0 : next - first - static_cast<uint32_t>(empty);
}

uint32_t FlatPartition::paramsIn(uint32_t rankBegin, uint32_t rankEnd, uint64_t begin, uint64_t end) const
{
    end = std::min(end, m_partition);
    rankEnd = std::min(rankEnd, m_ranks);
    if (rankBegin >= rankEnd || begin >= end)
        return 0;

    if (m_rule == PartitionRule::Contiguous) {
        uint32_t next = 0;
        if (begin == 0 && end == m_partition)
            return holdersInContiguous(rankBegin * m_partition, rankEnd * m_partition, 0, next);
        uint32_t count = 0;
        for (uint64_t rank = rankBegin; rank < rankEnd; ++rank)
            count += holdersInContiguous(rank * m_partition + begin, rank * m_partition + end, next, next);
        return count;
    }

    // The first rank of the block has the most of every parameter, so checking it is enough.
    const auto isHeld = [&](uint32_t param) {
        const uint64_t start = m_starts[param];
        const uint64_t slice = sliceElements(param);
        return slice > 0 && paramElements(param) > rankBegin * slice + (std::max(begin, start) - start);
    };
    const uint32_t first = paramAt(begin);
    const uint32_t last = paramAt(end - 1);
    uint32_t count = last - first + 1;
    bool firstIsSparse = false;
    for (auto it = std::lower_bound(m_sparse.begin(), m_sparse.end(), first);
         it != m_sparse.end() && *it <= last; ++it) {
        firstIsSparse = firstIsSparse || *it == first;
        if (!isHeld(*it))
            --count;
    }
    if (!firstIsSparse && !isHeld(first))
        --count;
    return count;
}

uint32_t FlatPartition::paramsInUnrolled(uint64_t begin, uint64_t end) const
{
    end = std::min(end, m_ranks * m_partition);
    if (begin >= end)
        return 0;
    uint32_t next = 0;
    if (m_rule == PartitionRule::Contiguous)
        return holdersInContiguous(begin, end, 0, next);
    const auto first = static_cast<uint32_t>(begin / m_partition);
    const auto last = static_cast<uint32_t>((end - 1) / m_partition);
    const uint64_t offset = begin % m_partition;
    if (first == last)
        return paramsIn(first, first + 1, offset, offset + (end - begin));
    // Parameters that begin before the window add those of the next rank; later ranks have no others.
    const uint64_t nextEnd = last > first + 1 ? m_partition : end - last * m_partition;
    return paramsIn(first, first + 1, offset, m_partition)
        + paramsIn(first + 1, first + 2, 0, std::min(nextEnd, paramStart(paramAt(offset))));
}

} // namespace shardscope
