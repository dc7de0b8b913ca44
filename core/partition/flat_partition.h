// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/partition: how ZeRO distributes the elements of a flat group over ranks, as arithmetic without
// files. Start with FlatPartition.

#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

enum class PartitionRule {
    Contiguous, ///< ZeRO-1, ZeRO-2, BF16_Optimizer: one flat vector, split into equal runs
    Sliced, ///< ZeRO-3: every parameter is split into equal slices; a rank's buffer has its slices in order
};

/// A run of one rank's flat buffer: part of a parameter, or padding.
struct FlatPiece {
    static constexpr uint32_t kPadding = 0xFFFFFFFFu;

    uint32_t param = kPadding; ///< position in the unit's parameter list, or kPadding
    uint32_t rank = 0;
    uint64_t paramOffset = 0; ///< first element inside the flattened parameter; 0 for padding
    uint64_t flatOffset = 0; ///< first element inside the rank's flat buffer
    uint64_t elements = 0;

    [[nodiscard]] bool isPadding() const { return param == kPadding; }
    bool operator==(const FlatPiece&) const = default;
};

/// The partition of one flat unit (a ZeRO-1/2 group, a ZeRO-3 sub-group) over ranks. Pure arithmetic, in
/// elements.
///
/// Stores rules, not a list: at most two 64-bit prefix sums per parameter. Pieces are computed on request,
/// because ZeRO-3 needs parameters × ranks of them. Every query is a binary search unless stated otherwise.
/// Zero-element parameters have no pieces. Immutable; thread-safe.
///
/// Contiguous (DeepSpeed runtime/zero/stage_1_and_2.py): alignment 2·ranks elements, padded = total rounded
/// up to it, part = padded / ranks. Rank r owns [r·part, (r+1)·part). Padding is one run at the global tail
/// and may cover whole ranks. With a parameter alignment above 1, padding before every parameter except the
/// first aligns its start, and the total includes this padding.
///
/// Sliced (runtime/zero/partition_parameters.py): slice = ceil(n / ranks) of every parameter on every rank,
/// payload first. Padding follows each slice and may cover it. A padding piece never extends into the next
/// parameter's slice.
class FlatPartition
{
public:
    /// One rank, no parameters.
    FlatPartition() = default;

    /// LimitExceeded if ranks × partition overflows 63 bits, or there are 2^32 − 1 parameters or more. Usage
    /// if ranks, the factor or the parameter alignment is 0. DeepSpeed before 0.5.2 used a factor of 1.
    static Result<FlatPartition> contiguous(std::vector<uint64_t> paramElements, uint32_t ranks,
        uint32_t alignmentFactor = 2, uint32_t parameterAlignment = 1);
    static Result<FlatPartition> sliced(std::vector<uint64_t> paramElements, uint32_t ranks);

    [[nodiscard]] PartitionRule rule() const { return m_rule; }
    [[nodiscard]] uint32_t ranks() const { return m_ranks; }
    [[nodiscard]] uint32_t paramCount() const { return static_cast<uint32_t>(m_payloadStarts.size() - 1); }
    [[nodiscard]] uint64_t paramElements(uint32_t param) const
    {
        return m_payloadStarts[param + size_t{1}] - m_payloadStarts[param];
    }
    /// Contiguous: offset in the whole flat vector. Sliced: offset in every rank's buffer. `param` may equal
    /// paramCount(): the end of the last one.
    [[nodiscard]] uint64_t paramStart(uint32_t param) const { return starts()[param]; }
    /// Elements of all parameters, without padding.
    [[nodiscard]] uint64_t payloadElements() const { return m_payloadStarts.back(); }
    /// Length of every rank's flat buffer, padding included.
    [[nodiscard]] uint64_t partitionElements() const { return m_partition; }
    /// Contiguous: alignmentFactor · ranks. Sliced: 1.
    [[nodiscard]] uint64_t alignment() const { return m_alignment; }
    /// Contiguous: the alignment of every parameter's start; 1 without padding between them. Sliced: 1.
    [[nodiscard]] uint32_t parameterAlignment() const { return m_parameterAlignment; }
    /// Contiguous: padding between a parameter and the next one; 0 after the last. Sliced: 0.
    [[nodiscard]] uint64_t paddingAfter(uint32_t param) const;
    /// Sliced: ceil(n / ranks) of one parameter. Contiguous: 0, there are no slices.
    [[nodiscard]] uint64_t sliceElements(uint32_t param) const;
    /// Payload elements on one rank.
    [[nodiscard]] uint64_t payloadOn(uint32_t rank) const;
    /// Padding elements on one rank: partitionElements() − payloadOn(rank).
    [[nodiscard]] uint64_t paddingOn(uint32_t rank) const { return m_partition - payloadOn(rank); }
    /// Contiguous: elements on one rank without the padding at the global tail, as stored in lean states;
    /// padding between parameters is included. Sliced: the whole buffer.
    [[nodiscard]] uint64_t leanElementsOn(uint32_t rank) const;

    /// The longest piece of `rank` that contains `offset`. Empty if there is no such rank or offset.
    [[nodiscard]] std::optional<FlatPiece> pieceAt(uint32_t rank, uint64_t offset) const;
    /// All pieces of `rank` that intersect [begin, end), in order, clipped to it. Stops early when `visit`
    /// returns false.
    void forEachPiece(uint32_t rank, uint64_t begin, uint64_t end,
        const std::function<bool(const FlatPiece&)>& visit) const;
    /// The pieces of elements [begin, end) of one parameter, in the parameter's order, clipped.
    void forEachFragment(uint32_t param, uint64_t begin, uint64_t end,
        const std::function<bool(const FlatPiece&)>& visit) const;
    /// The place of one element of a parameter: rank and flat offset. `element` is inside the parameter.
    struct Position {
        uint32_t rank = 0;
        uint64_t flatOffset = 0;
        bool operator==(const Position&) const = default;
    };
    [[nodiscard]] Position positionOf(uint32_t param, uint64_t element) const;
    /// The parameter at `offset` on `rank`, or the one before the padding there; kPadding if there is none.
    [[nodiscard]] uint32_t paramNear(uint32_t rank, uint64_t offset) const;

    /// Payload elements in the block ranks [rankBegin, rankEnd) × flat offsets [begin, end). Additional cost
    /// unless the block is full-width: Sliced visits the parameters in the range that leave whole ranks
    /// empty; Contiguous with aligned parameters does one search per rank.
    [[nodiscard]] uint64_t payloadIn(
        uint32_t rankBegin, uint32_t rankEnd, uint64_t begin, uint64_t end) const;
    /// Parameters with at least one element in that block. Contiguous: one binary search per rank, unless
    /// full-width.
    [[nodiscard]] uint32_t paramsIn(uint32_t rankBegin, uint32_t rankEnd, uint64_t begin, uint64_t end) const;

    /// Parameters with at least one element in [begin, end) of the concatenated buffers, rank 0 first.
    [[nodiscard]] uint32_t paramsInUnrolled(uint64_t begin, uint64_t end) const;

private:
    /// Sliced: sums over parameters, grouped by the rank where their payload ends.
    struct ShortEnd {
        uint64_t rank = 0; ///< the first rank that the parameter does not fill: floor(n / slice)
        uint64_t payload = 0; ///< sum of n over all entries up to and including this one
        uint64_t slices = 0; ///< the same sum of slices
    };

    [[nodiscard]] const std::vector<uint64_t>& starts() const
    {
        return m_starts.empty() ? m_payloadStarts : m_starts;
    }
    [[nodiscard]] uint32_t paramAt(uint64_t offset) const;
    [[nodiscard]] uint64_t payloadEndOf(uint32_t param) const
    {
        return paramStart(param) + paramElements(param);
    }
    /// Contiguous, in the whole flat vector: the end of the last parameter, the payload before an offset, and
    /// the parameter that has the n-th element of all payload.
    [[nodiscard]] uint64_t filledElements() const { return starts().back(); }
    [[nodiscard]] uint64_t payloadBefore(uint64_t offset) const;
    [[nodiscard]] uint32_t paramOfPayload(uint64_t n) const;
    [[nodiscard]] FlatPiece contiguousPadding(uint32_t rank, uint64_t offset) const;
    [[nodiscard]] FlatPiece slicedPiece(uint32_t param, uint32_t rank, uint64_t offset) const;
    [[nodiscard]] uint64_t slicedPayloadBefore(uint64_t rank) const;
    [[nodiscard]] uint64_t slicedPayloadBefore(uint64_t rank, uint32_t paramBegin, uint32_t paramEnd) const;
    [[nodiscard]] uint32_t holdersInContiguous(
        uint64_t begin, uint64_t end, uint32_t firstParam, uint32_t& next) const;
    void indexSparseParams();

    PartitionRule m_rule = PartitionRule::Contiguous;
    uint32_t m_ranks = 1;
    uint64_t m_partition = 0;
    uint64_t m_alignment = 1;
    uint32_t m_parameterAlignment = 1;
    std::vector<uint64_t> m_payloadStarts{0}; ///< prefix sums of elements, one more than parameters
    /// Starts of parameters: prefix sums of slices (Sliced), or of elements with the padding between them
    /// (Contiguous, aligned). Empty if equal to m_payloadStarts.
    std::vector<uint64_t> m_starts;
    /// Parameters without an element on the last rank (Sliced), without any element (Contiguous); ascending.
    std::vector<uint32_t> m_sparse;
    std::vector<ShortEnd> m_shortEnds; ///< Sliced: of m_sparse, ascending by rank, one entry per rank
};

/// Parameters [begin, end) of a param group that form one ZeRO-3 sub-group.
struct SubGroupRange {
    uint32_t begin = 0;
    uint32_t end = 0;
    bool operator==(const SubGroupRange&) const = default;
};

/// ZeRO-3's greedy split of one param group (runtime/zero/stage3.py, _create_fp16_sub_groups), by the sum of
/// slices ceil(n / ranks): a sub-group ends when the sum reaches `subGroupSize` (elements per rank). Empty
/// input: no sub-group. `ranks` must not be 0.
std::vector<SubGroupRange> splitIntoSubGroups(
    std::span<const uint64_t> paramElements, uint32_t ranks, uint64_t subGroupSize);

} // namespace shardscope
