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
        return fail(ErrorCode::Usage, "a flat group cannot be partitioned over 0 ranks");
    if (paramCount >= FlatPiece::kPadding)
        return fail(ErrorCode::LimitExceeded, "a flat group has more parameters than 32 bits can count");
    return {};
}

/// Prefix sums with a leading 0; empty if they exceed 63 bits.
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

/// The starts of parameters, each rounded up, and the end of the last one. Empty if they exceed 63 bits.
/// stage_1_and_2.py puts no padding after the last parameter of a group.
std::optional<std::vector<uint64_t>> alignedStarts(
    const std::vector<uint64_t>& payloadStarts, uint32_t alignment)
{
    std::vector<uint64_t> starts{0};
    starts.reserve(payloadStarts.size());
    for (size_t param = 0; param + 1 < payloadStarts.size(); ++param) {
        const uint64_t elements = payloadStarts[param + 1] - payloadStarts[param];
        auto next = checkedAdd(starts.back(), elements);
        if (next && param + 2 < payloadStarts.size())
            next = checkedMultiply<uint64_t>(divideRoundUp(*next, uint64_t{alignment}), alignment);
        if (!next || *next > kMaxElements)
            return std::nullopt;
        starts.push_back(*next);
    }
    return starts;
}

/// Payload elements at the front of one rank's run of `stride` elements, out of `total` over all ranks.
uint64_t payloadOfRun(uint64_t total, uint64_t rank, uint64_t stride)
{
    const uint64_t begin = rank * stride;
    return begin >= total ? 0 : std::min(total - begin, stride);
}

} // namespace

Result<FlatPartition> FlatPartition::contiguous(std::vector<uint64_t> paramElements, uint32_t ranks,
    uint32_t alignmentFactor, uint32_t parameterAlignment)
{
    SHARDSCOPE_CHECK(checkInput(paramElements.size(), ranks));
    if (alignmentFactor == 0 || parameterAlignment == 0)
        return fail(ErrorCode::Usage, "the alignment factor of a flat group cannot be 0");
    auto sums = prefixSums(paramElements, [](uint64_t count) { return count; });
    if (!sums)
        return tooLarge();

    FlatPartition out;
    out.m_rule = PartitionRule::Contiguous;
    out.m_ranks = ranks;
    out.m_alignment = uint64_t{alignmentFactor} * ranks;
    out.m_parameterAlignment = parameterAlignment;
    out.m_payloadStarts = std::move(*sums);
    if (parameterAlignment > 1) {
        auto starts = alignedStarts(out.m_payloadStarts, parameterAlignment);
        if (!starts)
            return tooLarge();
        out.m_starts = std::move(*starts);
    }
    const auto padded
        = checkedMultiply(divideRoundUp(out.filledElements(), out.m_alignment), out.m_alignment);
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
    out.m_starts = std::move(*slices);
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
    return m_rule == PartitionRule::Contiguous ? 0 : m_starts[param + size_t{1}] - m_starts[param];
}

uint64_t FlatPartition::paddingAfter(uint32_t param) const
{
    return m_rule == PartitionRule::Contiguous ? paramStart(param + 1) - payloadEndOf(param) : 0;
}

uint32_t FlatPartition::paramAt(uint64_t offset) const
{
    // The last of equal starts: zero-element parameters share their start with the next one and are skipped.
    const auto& begin = starts();
    return static_cast<uint32_t>(std::upper_bound(begin.begin(), begin.end(), offset) - begin.begin() - 1);
}

FlatPiece FlatPartition::slicedPiece(uint32_t param, uint32_t rank, uint64_t offset) const
{
    const uint64_t start = m_starts[param];
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
    const uint64_t at = base + offset;
    if (at >= filledElements())
        return contiguousPadding(rank, at);
    const uint32_t param = paramAt(at);
    if (at >= payloadEndOf(param))
        return contiguousPadding(rank, at);
    const uint64_t begin = std::max(paramStart(param), base);
    const uint64_t end = std::min(payloadEndOf(param), base + m_partition);
    return FlatPiece{param, rank, begin - paramStart(param), begin - base, end - begin};
}

FlatPiece FlatPartition::contiguousPadding(uint32_t rank, uint64_t offset) const
{
    // By the payload on both sides: there can be padding between parameters without elements.
    const uint64_t base = rank * m_partition;
    const uint64_t before = payloadBefore(offset);
    const uint64_t from = before == 0 ? 0 : payloadEndOf(paramOfPayload(before - 1));
    const uint64_t to
        = before == payloadElements() ? m_ranks * m_partition : paramStart(paramOfPayload(before));
    const uint64_t begin = std::max(from, base);
    return {FlatPiece::kPadding, rank, 0, begin - base, std::min(to, base + m_partition) - begin};
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
    const uint64_t stop = base + end;
    uint64_t at = base + begin;
    for (uint32_t param = at < filledElements() ? paramAt(at) : paramCount();
         param < paramCount() && paramStart(param) < stop; ++param) {
        const uint64_t first = std::max(paramStart(param), at);
        const uint64_t last = std::min(payloadEndOf(param), stop);
        if (first >= last)
            continue;
        if (first > at && !visit({FlatPiece::kPadding, rank, 0, at - base, first - at}))
            return;
        if (!visit({param, rank, first - paramStart(param), first - base, last - first}))
            return;
        at = last;
    }
    if (at < stop)
        visit({FlatPiece::kPadding, rank, 0, at - base, stop - at});
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
    const uint64_t length = starts().back();
    if (length == 0)
        return FlatPiece::kPadding;
    if (m_rule == PartitionRule::Sliced)
        return paramAt(std::min(offset, length - 1));
    const uint64_t at = rank * m_partition + offset;
    const uint32_t param = paramAt(std::min(at, length - 1));
    return at < payloadEndOf(param) ? param : paramOfPayload(payloadBefore(at) - 1);
}

} // namespace shardscope
