// SPDX-License-Identifier: Apache-2.0
#include "core/partition/flat_partition.h"

#include "core/base/checked.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace shardscope {

namespace {

constexpr uint64_t kMaxElements = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

tl::unexpected<Error> tooLarge()
{
    return fail(ErrorCode::LimitExceeded,
        "the parameters of one flat group have more elements than 63 bits can count");
}

Status checkInput(size_t paramCount, uint32_t ranks)
{
    if (ranks == 0)
        return fail(ErrorCode::Usage, "a flat group cannot be spread over 0 ranks");
    if (paramCount >= FlatPiece::kPadding)
        return fail(ErrorCode::LimitExceeded, "a flat group has more parameters than 32 bits can count");
    return {};
}

/// Prefix sums with a leading 0; nothing when they leave 63 bits.
template <class Term>
std::optional<std::vector<uint64_t>> prefixSums(const std::vector<uint64_t>& elements, Term term)
{
    std::vector<uint64_t> sums;
    sums.reserve(elements.size() + 1);
    sums.push_back(0);
    for (const uint64_t count : elements) {
        const auto sum = checkedAdd<uint64_t>(sums.back(), term(count));
        if (!sum || *sum > kMaxElements)
            return std::nullopt;
        sums.push_back(*sum);
    }
    return sums;
}

/// Payload elements at the front of one rank's run of `stride` elements, out of `total` over all ranks.
uint64_t payloadOfRun(uint64_t total, uint64_t rank, uint64_t stride)
{
    const uint64_t begin = rank * stride;
    return begin >= total ? 0 : std::min(total - begin, stride);
}

} // namespace

Result<FlatPartition> FlatPartition::contiguous(
    std::vector<uint64_t> paramElements, uint32_t ranks, uint32_t alignmentFactor)
{
    SHARDSCOPE_CHECK(checkInput(paramElements.size(), ranks));
    if (alignmentFactor == 0)
        return fail(ErrorCode::Usage, "the alignment factor of a flat group cannot be 0");
    auto sums = prefixSums(paramElements, [](uint64_t count) { return count; });
    if (!sums)
        return tooLarge();

    FlatPartition out;
    out.m_rule = PartitionRule::Contiguous;
    out.m_ranks = ranks;
    out.m_alignment = uint64_t{alignmentFactor} * ranks;
    out.m_payloadStarts = std::move(*sums);
    const auto padded
        = checkedMultiply(divideRoundUp(out.payloadElements(), out.m_alignment), out.m_alignment);
    if (!padded || *padded > kMaxElements)
        return tooLarge();
    out.m_partition = *padded / ranks;
    out.indexSparseParams();
    return out;
}

Result<FlatPartition> FlatPartition::sliced(std::vector<uint64_t> paramElements, uint32_t ranks)
{
    SHARDSCOPE_CHECK(checkInput(paramElements.size(), ranks));
    auto sums = prefixSums(paramElements, [](uint64_t count) { return count; });
    auto slices = prefixSums(paramElements, [ranks](uint64_t count) { return divideRoundUp(count, ranks); });
    if (!sums || !slices)
        return tooLarge();

    FlatPartition out;
    out.m_rule = PartitionRule::Sliced;
    out.m_ranks = ranks;
    out.m_partition = slices->back();
    const auto overAllRanks = checkedMultiply<uint64_t>(out.m_partition, ranks);
    if (!overAllRanks || *overAllRanks > kMaxElements)
        return tooLarge();
    out.m_payloadStarts = std::move(*sums);
    out.m_sliceStarts = std::move(*slices);
    out.indexSparseParams();
    return out;
}

void FlatPartition::indexSparseParams()
{
    std::vector<ShortEnd> ends;
    for (uint32_t param = 0; param < paramCount(); ++param) {
        const uint64_t elements = paramElements(param);
        const uint64_t slice = sliceElements(param);
        if (elements > (m_ranks - uint64_t{1}) * slice)
            continue;
        m_sparse.push_back(param);
        if (slice > 0)
            ends.push_back({elements / slice, elements, slice});
    }
    std::sort(ends.begin(), ends.end(), [](const ShortEnd& a, const ShortEnd& b) { return a.rank < b.rank; });
    for (const ShortEnd& end : ends) {
        if (m_shortEnds.empty()) {
            m_shortEnds.push_back(end);
            continue;
        }
        ShortEnd sum{
            end.rank, m_shortEnds.back().payload + end.payload, m_shortEnds.back().slices + end.slices};
        if (m_shortEnds.back().rank == end.rank)
            m_shortEnds.back() = sum;
        else
            m_shortEnds.push_back(sum);
    }
    m_sparse.shrink_to_fit();
    m_shortEnds.shrink_to_fit();
}

uint64_t FlatPartition::sliceElements(uint32_t param) const
{
    return m_rule == PartitionRule::Contiguous ? 0 : m_sliceStarts[param + size_t{1}] - m_sliceStarts[param];
}

uint32_t FlatPartition::paramAt(uint64_t offset) const
{
    // The last of equal starts: zero-element parameters share their start with the next one and are passed
    // over.
    const auto& begin = starts();
    return static_cast<uint32_t>(std::upper_bound(begin.begin(), begin.end(), offset) - begin.begin() - 1);
}

FlatPiece FlatPartition::slicedPiece(uint32_t param, uint32_t rank, uint64_t offset) const
{
    const uint64_t start = m_sliceStarts[param];
    const uint64_t slice = sliceElements(param);
    const uint64_t payload = payloadOfRun(paramElements(param), rank, slice);
    if (offset < start + payload)
        return {param, rank, rank * slice, start, payload};
    return {FlatPiece::kPadding, rank, 0, start + payload, slice - payload};
}

std::optional<FlatPiece> FlatPartition::pieceAt(uint32_t rank, uint64_t offset) const
{
    if (rank >= m_ranks || offset >= m_partition)
        return std::nullopt;
    if (m_rule == PartitionRule::Sliced)
        return slicedPiece(paramAt(offset), rank, offset);

    const uint64_t base = rank * m_partition;
    const uint64_t payload = payloadOfRun(payloadElements(), rank, m_partition);
    if (offset >= payload)
        return FlatPiece{FlatPiece::kPadding, rank, 0, payload, m_partition - payload};
    const uint32_t param = paramAt(base + offset);
    const uint64_t begin = std::max(paramStart(param), base);
    const uint64_t end = std::min(paramStart(param + 1), base + m_partition);
    return FlatPiece{param, rank, begin - paramStart(param), begin - base, end - begin};
}

void FlatPartition::forEachPiece(
    uint32_t rank, uint64_t begin, uint64_t end, const std::function<bool(const FlatPiece&)>& visit) const
{
    end = std::min(end, m_partition);
    if (rank >= m_ranks || begin >= end)
        return;

    if (m_rule == PartitionRule::Sliced) {
        for (uint32_t param = paramAt(begin); begin < end; ++param) {
            const uint64_t sliceEnd = std::min(paramStart(param + 1), end);
            while (begin < sliceEnd) { // payload, then padding
                FlatPiece piece = slicedPiece(param, rank, begin);
                const uint64_t pieceEnd = std::min(piece.flatOffset + piece.elements, end);
                if (!piece.isPadding())
                    piece.paramOffset += begin - piece.flatOffset;
                piece.flatOffset = begin;
                piece.elements = pieceEnd - begin;
                if (!visit(piece))
                    return;
                begin = pieceEnd;
            }
        }
        return;
    }

    const uint64_t base = rank * m_partition;
    const uint64_t payloadEnd = std::min(payloadOfRun(payloadElements(), rank, m_partition), end);
    for (uint32_t param = begin < payloadEnd ? paramAt(base + begin) : 0; begin < payloadEnd; ++param) {
        const uint64_t pieceEnd = std::min(paramStart(param + 1) - base, payloadEnd);
        if (pieceEnd == begin)
            continue;
        if (!visit({param, rank, base + begin - paramStart(param), begin, pieceEnd - begin}))
            return;
        begin = pieceEnd;
    }
    if (begin < end)
        visit({FlatPiece::kPadding, rank, 0, begin, end - begin});
}

void FlatPartition::forEachFragment(
    uint32_t param, uint64_t begin, uint64_t end, const std::function<bool(const FlatPiece&)>& visit) const
{
    end = std::min(end, paramElements(param));
    while (begin < end) {
        const Position position = positionOf(param, begin);
        const uint64_t runEnd
            = m_rule == PartitionRule::Contiguous ? m_partition : paramStart(param) + sliceElements(param);
        const uint64_t elements = std::min(runEnd - position.flatOffset, end - begin);
        if (!visit({param, position.rank, begin, position.flatOffset, elements}))
            return;
        begin += elements;
    }
}

FlatPartition::Position FlatPartition::positionOf(uint32_t param, uint64_t element) const
{
    assert(element < paramElements(param));
    if (m_rule == PartitionRule::Contiguous) {
        const uint64_t offset = paramStart(param) + element;
        return {static_cast<uint32_t>(offset / m_partition), offset % m_partition};
    }
    const uint64_t slice = sliceElements(param);
    return {static_cast<uint32_t>(element / slice), paramStart(param) + element % slice};
}

uint32_t FlatPartition::paramNear(uint32_t rank, uint64_t offset) const
{
    const bool contiguous = m_rule == PartitionRule::Contiguous;
    const uint64_t length = starts().back();
    if (length == 0)
        return FlatPiece::kPadding;
    return paramAt(std::min(contiguous ? rank * m_partition + offset : offset, length - 1));
}

} // namespace shardscope
