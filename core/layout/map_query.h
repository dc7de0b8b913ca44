// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/layout/map_looks.h"
#include "core/layout/severity_index.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace shardscope {

/// Outside: nothing belongs here, because the row ends before the longest one. The last ranks of a
/// distributed checkpoint's tensor have fewer rows of it than the others.
enum class CellKind : uint8_t { Param, PaddingStored, PaddingImplied, Missing, NotYetRead, Outside };

/// One run of a map row: a parameter's fragment, padding, or a missing shard.
struct MapCell {
    CellKind kind = CellKind::Param;
    ParamClass paramClass = ParamClass::Other;
    ParamId param = kNoParam; ///< also set for missing shards, if the layout is known
    uint64_t paramOffset = 0; ///< of stored elements (Checkpoint::transposedOrder)
    uint64_t begin = 0; ///< element range in the row; empty if there is nothing
    uint64_t end = 0;
    bool frozen = false; ///< as a file records (isFrozen)
    bool shared = false;
    int8_t severity = -1; ///< worst finding here: -1 none, 0 info, 1 warning, 2 error
};

/// Queries for drawing one flat unit. Their cost depends on the requested range, not on the checkpoint size.
///
/// Rows are dp ranks, x is the element inside a rank's flat buffer (projection Partitions), or the whole flat
/// vector as one row (projection Unrolled: rank r's buffer follows rank r−1's). A shard that is stored only
/// in part has cells up to its end; the rest is implied padding, or missing. Built in O(ranks + findings),
/// without looks O(parameters of the checkpoint) more; memory does not grow with ranks × parameters.
/// Findings of all states of the unit are marked, whichever state is drawn. Immutable after construction;
/// thread-safe.
class MapQuery
{
public:
    enum class Projection { Partitions, Unrolled };

    /// What is drawn: one of the states of a unit.
    struct Subject {
        UnitId unit = kNoUnit;
        Projection projection = Projection::Partitions;
        uint32_t stateIndex = 0;
    };

    /// `looks` are the checkpoint's, or null to compute them.
    /// `more`: findings besides the checkpoint's own, for example the doctor's.
    MapQuery(CheckpointPtr checkpoint, const Subject& subject, MapLooksPtr looks = nullptr,
        std::span<const Finding> more = {});

    /// The same, for many units of one checkpoint.
    MapQuery(
        CheckpointPtr checkpoint, const Subject& subject, MapLooksPtr looks, const PlacedFindings& findings);
    /// Of a unit that is not in the checkpoint: one tensor (whole_units.h). unit() is kNoUnit.
    MapQuery(CheckpointPtr checkpoint, std::shared_ptr<const FlatUnit> tensor, Projection projection,
        MapLooksPtr looks, const PlacedFindings& findings);

    [[nodiscard]] uint32_t rows() const;
    /// Elements of the longest row, padding included.
    [[nodiscard]] uint64_t columns() const;
    [[nodiscard]] uint32_t rankOfRow(uint32_t row, uint64_t x) const;

    /// The cell at one point; O(log params). Empty (begin = end) outside rows() × columns().
    [[nodiscard]] MapCell cellAt(uint32_t row, uint64_t x) const;
    /// All cells of a row that intersect [begin, end), clipped, in order.
    void forEachCell(
        uint32_t row, uint64_t begin, uint64_t end, const std::function<bool(const MapCell&)>& visit) const;
    /// Worst severity over a block of rows × elements, exact: merging never loses a finding.
    [[nodiscard]] int8_t worstSeverity(
        uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const;
    /// The same of one state.
    [[nodiscard]] int8_t worstSeverityIn(
        uint32_t state, uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const;
    /// Whether there are findings at all; O(1).
    [[nodiscard]] bool hasFindings() const { return !m_severities.empty(); }
    /// Whether any rank in the block is missing or not yet read; O(1).
    [[nodiscard]] bool anyMissing(uint32_t rowBegin, uint32_t rowEnd) const;

    struct Sum {
        uint64_t elements = 0; ///< payload, including that of missing shards
        uint64_t padding = 0;
        uint64_t stored = 0; ///< elements of the chosen state that are in files, padding included
        uint64_t bytes = 0; ///< of those
        uint64_t params = 0;
        uint32_t ranks = 0;
        uint32_t files = 0; ///< with the shards of those ranks
        bool operator==(const Sum&) const = default;
    };
    /// The sums of a selection. Parameters are counted by binary search. Stored bytes cost O(ranks in it).
    [[nodiscard]] Sum sum(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const;
    /// The same without the number of parameters, which costs most.
    [[nodiscard]] Sum amounts(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const;

    [[nodiscard]] const CheckpointPtr& checkpoint() const { return m_checkpoint; }
    [[nodiscard]] UnitId unit() const { return m_unit; }
    [[nodiscard]] const FlatUnit& flat() const
    {
        return m_tensor ? *m_tensor : m_checkpoint->units[index(m_unit)];
    }
    [[nodiscard]] Projection projection() const { return m_projection; }
    [[nodiscard]] uint32_t stateIndex() const { return m_state; }
    [[nodiscard]] const MapLooks& looks() const { return *m_looks; }
    /// Param, Missing or NotYetRead: what is known of a rank's shard.
    [[nodiscard]] CellKind kindOf(uint32_t rank) const { return m_rankKinds[rank]; }

private:
    [[nodiscard]] const FlatPartition& partition() const { return flat().partition; }
    struct Range {
        uint64_t begin = 0;
        uint64_t end = 0;
    };
    [[nodiscard]] uint64_t storedOn(uint32_t rank) const;
    [[nodiscard]] MapCell cellOf(const FlatPiece& piece) const;
    bool visitPiece(
        const FlatPiece& piece, uint64_t rowOffset, const std::function<bool(const MapCell&)>& visit) const;
    void lookAtRanks();
    void findMissing();
    void placeFindings(const PlacedFindings& findings);
    [[nodiscard]] int8_t worstOf(uint32_t rank, uint64_t begin, uint64_t end) const;
    [[nodiscard]] bool isMissing(uint64_t element) const;
    /// The next begin or end of stored data after `offset` of a present rank; a huge number if none.
    [[nodiscard]] uint64_t nextChange(uint32_t rank, uint64_t offset) const;
    [[nodiscard]] uint64_t presentIn(uint32_t rank, uint64_t begin, uint64_t end) const;
    /// Calls `visit(rankBegin, rankEnd, begin, end)` for the blocks of ranks × flat offsets in a selection,
    /// at most three.
    template <class Visit>
    void forEachBlock(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end, Visit visit) const;

    CheckpointPtr m_checkpoint;
    std::shared_ptr<const FlatUnit> m_tensor; ///< if it is not in the checkpoint
    UnitId m_unit;
    Projection m_projection;
    uint32_t m_state;
    MapLooksPtr m_looks;
    std::vector<CellKind> m_rankKinds; ///< per rank: Param, Missing or NotYetRead
    std::vector<uint32_t> m_missingBefore; ///< per rank and one more: ranks before it that are not Param
    std::vector<Range> m_missing; ///< ascending: elements of a whole unit that are stored nowhere
    struct StateSeverity {
        uint32_t state = 0;
        SeverityIndex index;
    };
    std::vector<StateSeverity> m_severities; ///< of the states with findings
};

} // namespace shardscope
