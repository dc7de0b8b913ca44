// SPDX-License-Identifier: Apache-2.0
#include "core/layout/map_query.h"

#include <algorithm>
#include <limits>

namespace shardscope {

namespace {

/// After this number of holes, the rest of a tensor is drawn as missing.
constexpr size_t kMaxMissingRanges = 1'000'000;

bool isPresent(const MappedRun& mapped)
{
    return mapped.run.isPresent();
}

bool isAbsent(const MappedRun& mapped)
{
    return !mapped.run.isPresent();
}

} // namespace

MapQuery::MapQuery(
    CheckpointPtr checkpoint, const Subject& subject, MapLooksPtr looks, std::span<const Finding> more)
    : MapQuery(checkpoint, subject, std::move(looks), PlacedFindings(*checkpoint, more))
{
}

MapQuery::MapQuery(
    CheckpointPtr checkpoint, const Subject& subject, MapLooksPtr looks, const PlacedFindings& findings)
    : m_checkpoint(std::move(checkpoint))
    , m_unit(subject.unit)
    , m_projection(subject.projection)
    , m_state(subject.stateIndex)
    , m_looks(looks ? std::move(looks) : mapLooks(*m_checkpoint))
{
    placeFindings(findings);
    lookAtRanks();
    findMissing();
}

MapQuery::MapQuery(CheckpointPtr checkpoint, std::shared_ptr<const FlatUnit> tensor, Projection projection,
    MapLooksPtr looks, const PlacedFindings& findings)
    : m_checkpoint(std::move(checkpoint))
    , m_tensor(std::move(tensor))
    , m_unit(kNoUnit)
    , m_projection(projection)
    , m_state(0)
    , m_looks(looks ? std::move(looks) : mapLooks(*m_checkpoint))
{
    placeFindings(findings);
    lookAtRanks();
    findMissing();
}

void MapQuery::placeFindings(const PlacedFindings& findings)
{
    if (findings.items().empty())
        return;
    for (uint32_t state = 0; state < flat().states.size(); ++state) {
        SeverityIndex index(*m_checkpoint, flat(), m_unit, state, findings);
        if (!index.isEmpty())
            m_severities.push_back({state, std::move(index)});
    }
}

int8_t MapQuery::worstOf(uint32_t rank, uint64_t begin, uint64_t end) const
{
    int8_t worst = -1;
    for (const StateSeverity& one : m_severities)
        worst = std::max(worst, one.index.worst(partition(), rank, rank + 1, begin, end));
    return worst;
}

void MapQuery::findMissing()
{
    const UnitState& state = flat().states[m_state];
    if (flat().kind != UnitKind::Whole || m_rankKinds.front() != CellKind::Param
        || state.visitRuns(isPresent))
        return;
    const auto add = [&](uint64_t begin, uint64_t end) {
        if (begin >= end)
            return;
        if (!m_missing.empty() && m_missing.back().end == begin)
            m_missing.back().end = end;
        else
            m_missing.push_back({begin, end});
    };
    uint64_t at = 0; // everything before this is known
    partition().forEachPiece(0, 0, partition().payloadElements(), [&](const FlatPiece& piece) {
        return state.visitPiece(piece, [&](const StoredPiece& stored) {
            if (m_missing.size() == kMaxMissingRanges)
                return false;
            const uint64_t begin = piece.flatOffset + (stored.paramOffset - piece.paramOffset);
            add(at, begin); // stored nowhere
            at = begin + stored.elements;
            add(begin + stored.stored(), at);
            return true;
        });
    });
    add(at, partition().payloadElements());
}

void MapQuery::lookAtRanks()
{
    const FlatUnit& unit = flat();
    const Checkpoint& part = m_checkpoint->partOf(unit);
    const auto& files = unit.kind == UnitKind::Frozen ? part.modelFiles : part.optimFiles;
    const uint32_t ranks = unit.partition.ranks();
    const bool noTensor = unit.kind == UnitKind::Whole && unit.states[m_state].visitRuns(isAbsent);
    m_rankKinds.resize(ranks, CellKind::Param);
    m_missingBefore.resize(ranks + size_t{1}, 0);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const uint32_t holder = unit.dpRankOf(rank);
        const bool pending = !m_tensor && holder < files.size()
            && index(files[holder]) < m_checkpoint->files.size()
            && m_checkpoint->file(files[holder]).status == FileStatus::NotYetRead;
        const auto& runs = unit.states[m_state].perRank;
        // Whole units are in separate files.
        const bool wholePending = unit.kind == UnitKind::Whole && rank < runs.size() && runs[rank].isPresent()
            && m_checkpoint->file(runs[rank].file).status == FileStatus::NotYetRead;
        if (pending || wholePending)
            m_rankKinds[rank] = CellKind::NotYetRead;
        else if (unit.kind == UnitKind::Whole ? noTensor : rank >= runs.size() || !runs[rank].isPresent())
            m_rankKinds[rank] = CellKind::Missing;
        m_missingBefore[rank + size_t{1}]
            = m_missingBefore[rank] + (m_rankKinds[rank] == CellKind::Param ? 0 : 1);
    }
}

uint32_t MapQuery::rows() const
{
    return m_projection == Projection::Partitions ? partition().ranks() : 1;
}

uint64_t MapQuery::columns() const
{
    const uint64_t length = partition().partitionElements();
    return m_projection == Projection::Partitions ? length : partition().ranks() * length;
}

uint32_t MapQuery::rankOfRow(uint32_t row, uint64_t x) const
{
    const uint64_t length = partition().partitionElements();
    if (m_projection == Projection::Partitions || length == 0)
        return row;
    return static_cast<uint32_t>(x / length);
}

uint64_t MapQuery::storedOn(uint32_t rank) const
{
    if (m_rankKinds[rank] != CellKind::Param)
        return 0;
    const UnitState& state = flat().states[m_state];
    return state.map().isFlat() ? state.perRank[rank].elements : partition().partitionElements();
}

MapCell MapQuery::cellOf(const FlatPiece& piece) const
{
    MapCell cell;
    cell.begin = piece.flatOffset;
    cell.end = piece.flatOffset + piece.elements;
    cell.kind = m_rankKinds[piece.rank];
    if (piece.isPadding()) {
        if (flat().kind == UnitKind::Whole)
            cell.kind = CellKind::Outside;
        else if (cell.kind == CellKind::Param)
            cell.kind = flat().states[m_state].map().isFlat() && piece.flatOffset < storedOn(piece.rank)
                ? CellKind::PaddingStored
                : CellKind::PaddingImplied;
        return cell;
    }
    if (cell.kind == CellKind::Param && piece.flatOffset >= storedOn(piece.rank))
        cell.kind = CellKind::Missing;
    if (cell.kind == CellKind::Param && isMissing(piece.flatOffset))
        cell.kind = CellKind::Missing;
    cell.param = flat().params[piece.param];
    cell.paramOffset = piece.paramOffset;
    cell.paramClass = m_looks->classes[index(cell.param)];
    cell.shared = m_looks->shared[index(cell.param)] != 0;
    cell.frozen = isFrozen(*m_checkpoint, m_checkpoint->params[index(cell.param)]);
    return cell;
}

bool MapQuery::visitPiece(
    const FlatPiece& piece, uint64_t rowOffset, const std::function<bool(const MapCell&)>& visit) const
{
    const auto emit = [&](const FlatPiece& part) {
        MapCell cell = cellOf(part);
        cell.severity = worstOf(part.rank, cell.begin, cell.end);
        cell.begin += rowOffset;
        cell.end += rowOffset;
        return visit(cell);
    };
    const uint64_t end = piece.flatOffset + piece.elements;
    FlatPiece rest = piece;
    while (true) {
        const uint64_t stop = nextChange(rest.rank, rest.flatOffset);
        if (m_rankKinds[piece.rank] != CellKind::Param || stop >= end)
            return emit(rest);
        FlatPiece head = rest;
        head.elements = stop - rest.flatOffset;
        if (!emit(head))
            return false;
        rest.flatOffset = stop;
        rest.elements -= head.elements;
        if (!rest.isPadding())
            rest.paramOffset += head.elements;
    }
}

uint64_t MapQuery::nextChange(uint32_t rank, uint64_t offset) const
{
    constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
    const uint64_t stored = storedOn(rank);
    uint64_t next = stored > offset ? stored : kNever; // the shard may end inside a piece
    const auto range = std::upper_bound(m_missing.begin(), m_missing.end(), offset,
        [](uint64_t at, const Range& one) { return at < one.end; });
    if (range != m_missing.end())
        next = std::min(next, offset < range->begin ? range->begin : range->end);
    return next;
}

bool MapQuery::isMissing(uint64_t element) const
{
    const auto range = std::upper_bound(m_missing.begin(), m_missing.end(), element,
        [](uint64_t at, const Range& one) { return at < one.end; });
    return range != m_missing.end() && range->begin <= element;
}

MapCell MapQuery::cellAt(uint32_t row, uint64_t x) const
{
    if (row >= rows() || x >= columns())
        return {.begin = x, .end = x};
    const uint32_t rank = rankOfRow(row, x);
    const uint64_t rowOffset
        = m_projection == Projection::Partitions ? 0 : rank * partition().partitionElements();
    MapCell found;
    visitPiece(*partition().pieceAt(rank, x - rowOffset), rowOffset, [&](const MapCell& cell) {
        found = cell;
        return x >= cell.end;
    });
    return found;
}

void MapQuery::forEachCell(
    uint32_t row, uint64_t begin, uint64_t end, const std::function<bool(const MapCell&)>& visit) const
{
    end = std::min(end, columns());
    if (row >= rows() || begin >= end)
        return;
    const uint64_t length = partition().partitionElements();
    bool goOn = true;
    while (goOn && begin < end) {
        const uint32_t rank = rankOfRow(row, begin);
        const uint64_t rowOffset = m_projection == Projection::Partitions ? 0 : rank * length;
        const uint64_t stop = std::min(end, rowOffset + length);
        partition().forEachPiece(rank, begin - rowOffset, stop - rowOffset,
            [&](const FlatPiece& piece) { return goOn = visitPiece(piece, rowOffset, visit); });
        begin = stop;
    }
}

template <class Visit>
void MapQuery::forEachBlock(
    uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end, Visit visit) const
{
    rowEnd = std::min(rowEnd, rows());
    end = std::min(end, columns());
    if (rowBegin >= rowEnd || begin >= end)
        return;
    if (m_projection == Projection::Partitions) {
        visit(rowBegin, rowEnd, begin, end);
        return;
    }
    const uint64_t length = partition().partitionElements();
    uint32_t first = rankOfRow(0, begin);
    const uint32_t last = rankOfRow(0, end - 1);
    if (first == last) {
        visit(first, first + 1, begin - first * length, end - first * length);
        return;
    }
    if (begin > first * length) {
        visit(first, first + 1, begin - first * length, length);
        ++first;
    }
    const bool lastIsWhole = end == (last + uint64_t{1}) * length;
    const uint32_t wholeEnd = lastIsWhole ? last + 1 : last;
    if (first < wholeEnd)
        visit(first, wholeEnd, uint64_t{0}, length);
    if (!lastIsWhole)
        visit(last, last + 1, uint64_t{0}, end - last * length);
}

uint64_t MapQuery::presentIn(uint32_t rank, uint64_t begin, uint64_t end) const
{
    uint64_t present = std::clamp(storedOn(rank), begin, end) - begin;
    auto range = std::upper_bound(m_missing.begin(), m_missing.end(), begin,
        [](uint64_t at, const Range& one) { return at < one.end; });
    for (; range != m_missing.end() && range->begin < end; ++range)
        present -= std::min(end, range->end) - std::max(begin, range->begin);
    return present;
}

int8_t MapQuery::worstSeverity(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const
{
    int8_t worst = -1;
    for (const StateSeverity& one : m_severities)
        worst = std::max(worst, worstSeverityIn(one.state, rowBegin, rowEnd, begin, end));
    return worst;
}

int8_t MapQuery::worstSeverityIn(
    uint32_t state, uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const
{
    int8_t worst = -1;
    const auto one = std::find_if(m_severities.begin(), m_severities.end(),
        [state](const StateSeverity& candidate) { return candidate.state == state; });
    if (one == m_severities.end())
        return worst;
    forEachBlock(
        rowBegin, rowEnd, begin, end, [&](uint32_t first, uint32_t last, uint64_t from, uint64_t to) {
            worst = std::max(worst, one->index.worst(partition(), first, last, from, to));
        });
    return worst;
}

bool MapQuery::anyMissing(uint32_t rowBegin, uint32_t rowEnd) const
{
    rowEnd = std::min(rowEnd, rows());
    if (rowBegin >= rowEnd)
        return false;
    if (m_projection == Projection::Unrolled)
        return m_missingBefore.back() > 0;
    return m_missingBefore[rowEnd] > m_missingBefore[rowBegin];
}

MapQuery::Sum MapQuery::amounts(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const
{
    Sum out;
    const uint64_t itemBytes = itemSize(flat().states[m_state].dtype);
    forEachBlock(
        rowBegin, rowEnd, begin, end, [&](uint32_t first, uint32_t last, uint64_t from, uint64_t to) {
            const uint64_t payload = partition().payloadIn(first, last, from, to);
            out.elements += payload;
            if (flat().kind != UnitKind::Whole)
                out.padding += (last - first) * (to - from) - payload;
            out.ranks += last - first;
            out.files += last - first - (m_missingBefore[last] - m_missingBefore[first]);
            for (uint32_t rank = first; rank < last; ++rank)
                out.stored += presentIn(rank, from, to);
        });
    out.bytes = out.stored * itemBytes;
    return out;
}

MapQuery::Sum MapQuery::sum(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const
{
    Sum out = amounts(rowBegin, rowEnd, begin, end);
    if (m_projection == Projection::Unrolled)
        out.params = rowBegin < std::min(rowEnd, 1u) ? partition().paramsInUnrolled(begin, end) : 0;
    else
        out.params = partition().paramsIn(rowBegin, rowEnd, begin, end);
    return out;
}

} // namespace shardscope
