// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_source.h"

#include "core/layout/counts.h"
#include "core/layout/rank_load.h"
#include "ui/text/text.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

void add(MapQuery::Sum& all, const MapQuery::Sum& one)
{
    all.elements += one.elements;
    all.padding += one.padding;
    all.stored += one.stored;
    all.bytes += one.bytes;
}

} // namespace

MapSource::MapSource(std::vector<MapQuery> parts, Shared shared)
    : m_parts(std::move(parts))
    , m_names(shared.names ? std::move(shared.names)
                           : std::make_shared<const MapNames>(m_parts.front().checkpoint()))
    , m_number(shared.number)
{
    m_begins.push_back(0);
    for (const MapQuery& part : m_parts) {
        m_begins.push_back(m_begins.back() + part.columns());
    }
    m_hasFindings = std::any_of(
        m_parts.begin(), m_parts.end(), [](const MapQuery& part) { return part.hasFindings(); });
    if (m_parts.size() > 1) {
        lookAtRows();
    }
}

MapSource::MapSource(FileRowsPtr files, Shared shared)
    : m_files(std::move(files))
    , m_begins{0, m_files->columns()}
    , m_hasFindings(m_files->worstSeverity(0, m_files->rows(), 0) >= 0)
    , m_names(std::move(shared.names))
    , m_number(shared.number)
{
    lookAtRows();
}

void MapSource::lookAtRows()
{
    m_missingRows.resize(rows());
    for (uint32_t row = 0; row < rows(); ++row) {
        m_missingRows[row] = m_files
            ? m_files->file(row).status == FileStatus::Missing
            : std::any_of(m_parts.begin(), m_parts.end(),
                [row](const MapQuery& part) { return part.anyMissing(row, row + 1); });
        const MapQuery::Sum sum = amounts(row, 0, columns());
        m_rowSums.push_back(sum);
        m_rowBytes.push_back(countBytes(row));
        add(m_total, sum);
        m_total.ranks += sum.ranks;
        m_total.files += sum.files;
    }
    for (const MapQuery& part : m_parts) {
        m_total.params += part.flat().params.size();
    }
}

MapSource::MapSource(CheckpointPtr checkpoint, const MapQuery::Subject& subject, MapLooksPtr looks,
    std::span<const Finding> more)
    : MapSource({MapQuery(std::move(checkpoint), subject, std::move(looks), more)}, Shared{})
{
}

size_t MapSource::partAt(uint64_t element) const
{
    if (m_parts.size() == 1) {
        return 0;
    }
    const auto after = std::upper_bound(m_begins.begin(), m_begins.end() - 1, element);
    return static_cast<size_t>(after - m_begins.begin()) - 1;
}

std::optional<size_t> MapSource::partOf(UnitId unit) const
{
    const auto found = std::lower_bound(m_parts.begin(), m_parts.end(), unit,
        [](const MapQuery& part, UnitId wanted) { return index(part.unit()) < index(wanted); });
    if (unit == kNoUnit || found == m_parts.end() || found->unit() != unit) {
        return std::nullopt;
    }
    return static_cast<size_t>(found - m_parts.begin());
}

std::optional<size_t> MapSource::partOf(ParamId param) const
{
    const UnitId unit = checkpoint().params[index(param)].unit;
    if (unit != kNoUnit) {
        return partOf(unit);
    }
    const auto found = std::lower_bound(m_parts.begin(), m_parts.end(), param,
        [](const MapQuery& part, ParamId wanted) { return part.flat().params.front() < wanted; });
    const bool isHere = isOutsideUnits() && found != m_parts.end() && found->flat().params.front() == param;
    return isHere ? std::optional(static_cast<size_t>(found - m_parts.begin())) : std::nullopt;
}

const UnitState& MapSource::stateAt(uint64_t element) const
{
    const MapQuery& part = m_parts[partAt(element)];
    return part.flat().states[part.stateIndex()];
}

MapCell MapSource::cellAt(uint32_t row, uint64_t x) const
{
    if (row >= rows() || x >= columns()) {
        return {.begin = x, .end = x};
    }
    if (m_files) {
        return m_files->cellAt(row, x);
    }
    const size_t part = partAt(x);
    MapCell cell = m_parts[part].cellAt(row, x - m_begins[part]);
    cell.begin += m_begins[part];
    cell.end += m_begins[part];
    return cell;
}

void MapSource::forEachCell(
    uint32_t row, uint64_t begin, uint64_t end, const std::function<bool(const MapCell&)>& visit) const
{
    end = std::min(end, columns());
    bool goOn = begin < end;
    for (size_t part = goOn ? partAt(begin) : 0; goOn && part < m_parts.size() && m_begins[part] < end;
         ++part) {
        const uint64_t shift = m_begins[part];
        m_parts[part].forEachCell(
            row, std::max(begin, shift) - shift, end - shift, [&](const MapCell& found) {
                MapCell cell = found;
                cell.begin += shift;
                cell.end += shift;
                return goOn = visit(cell);
            });
    }
}

int8_t MapSource::worstSeverity(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const
{
    end = std::min(end, columns());
    int8_t worst = -1;
    if (begin >= end || !m_hasFindings) {
        return worst;
    }
    if (m_files) {
        return m_files->worstSeverity(rowBegin, rowEnd, begin);
    }
    for (size_t part = partAt(begin); part < m_parts.size() && m_begins[part] < end; ++part) {
        const uint64_t shift = m_begins[part];
        worst = std::max(worst,
            m_parts[part].worstSeverity(rowBegin, rowEnd, std::max(begin, shift) - shift, end - shift));
    }
    return worst;
}

std::vector<std::string> MapSource::otherStatesWithWorst(
    uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const
{
    end = std::min(end, columns());
    const int8_t worst = worstSeverity(rowBegin, rowEnd, begin, end);
    std::vector<std::string> states;
    for (size_t part = m_files || worst < 0 ? m_parts.size() : partAt(begin);
         part < m_parts.size() && m_begins[part] < end; ++part) {
        const MapQuery& query = m_parts[part];
        const uint64_t from = std::max(begin, m_begins[part]) - m_begins[part];
        for (uint32_t state = 0; state < query.flat().states.size(); ++state) {
            const std::string& name = query.flat().states[state].name;
            if (query.worstSeverityIn(state, rowBegin, rowEnd, from, end - m_begins[part]) < worst)
                continue;
            if (state == query.stateIndex())
                return {};
            if (std::find(states.begin(), states.end(), name) == states.end())
                states.push_back(name);
        }
    }
    return states;
}

int8_t MapSource::worstSeverity(uint32_t row) const
{
    return worstSeverity(row, row + 1, 0, columns());
}

bool MapSource::anyMissing(uint32_t rowBegin, uint32_t rowEnd) const
{
    if (m_parts.size() == 1) {
        return m_parts.front().anyMissing(rowBegin, rowEnd);
    }
    const auto begin = m_missingRows.begin();
    const auto at = [&](uint32_t row) { return begin + std::min(row, rows()); };
    return std::find(at(rowBegin), at(rowEnd), true) != at(rowEnd);
}

template <class SumOf>
MapQuery::Sum MapSource::sumOfParts(uint64_t begin, uint64_t end, SumOf sumOf) const
{
    MapQuery::Sum all;
    end = std::min(end, columns());
    for (size_t part = begin < end ? partAt(begin) : m_parts.size();
         part < m_parts.size() && m_begins[part] < end; ++part) {
        const uint64_t shift = m_begins[part];
        const MapQuery::Sum one = sumOf(m_parts[part], std::max(begin, shift) - shift, end - shift);
        add(all, one);
        all.params += one.params;
        // Parts share their ranks, and the files of these.
        all.ranks = std::max(all.ranks, one.ranks);
        all.files = std::max(all.files, one.files);
    }
    return all;
}

MapQuery::Sum MapSource::sum(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const
{
    if (m_files) {
        MapQuery::Sum all{.files = rowEnd - rowBegin};
        for (uint32_t row = rowBegin; row < rowEnd; ++row) {
            add(all, m_files->amounts(row, begin, end));
        }
        return all;
    }
    return sumOfParts(begin, end, [&](const MapQuery& part, uint64_t from, uint64_t to) {
        return part.sum(rowBegin, rowEnd, from, to);
    });
}

MapQuery::Sum MapSource::amounts(uint32_t row, uint64_t begin, uint64_t end) const
{
    if (row < m_rowSums.size() && begin == 0 && end >= columns()) {
        return m_rowSums[row];
    }
    if (m_files) {
        return m_files->amounts(row, begin, end);
    }
    return sumOfParts(begin, end, [&](const MapQuery& part, uint64_t from, uint64_t to) {
        return part.amounts(row, row + 1, from, to);
    });
}

uint64_t MapSource::countBytes(uint32_t row) const
{
    const bool all = projection() == MapQuery::Projection::Unrolled;
    uint64_t bytes = 0;
    for (const MapQuery& part : m_parts) {
        const uint32_t ranks = part.flat().partition.ranks();
        for (uint32_t rank = all ? 0 : row; rank < (all ? ranks : std::min(row + 1, ranks)); ++rank) {
            bytes += bytesOnRank(part.flat(), rank);
        }
    }
    return bytes;
}

uint64_t MapSource::bytesOfStates(uint32_t row) const
{
    return row < m_rowBytes.size() ? m_rowBytes[row] : countBytes(row);
}

bool MapSource::hasPadding(uint32_t row) const
{
    if (row < m_rowSums.size()) {
        return m_rowSums[row].padding > 0;
    }
    return projection() == MapQuery::Projection::Partitions && row < partition().ranks()
        && paddingElements(unit(), row) > 0;
}

MapQuery::Sum MapSource::total() const
{
    return m_parts.size() != 1 ? m_total : sum(0, rows(), 0, columns());
}

bool MapSource::hasEqualRows() const
{
    return m_parts.size() == 1 && projection() == MapQuery::Projection::Partitions
        && partition().rule() == PartitionRule::Sliced;
}

MapSource::Place MapSource::placeOf(uint32_t row, uint64_t element) const
{
    const size_t part = partAt(element);
    element -= m_begins[part];
    if (projection() == MapQuery::Projection::Partitions) {
        return {row, element, part};
    }
    const uint64_t length = std::max<uint64_t>(m_parts[part].flat().partition.partitionElements(), 1);
    return {static_cast<uint32_t>(element / length), element % length, part};
}

MapSource::Stored MapSource::storedAt(const MapCell& cell, Place place) const
{
    FlatPiece piece{
        .rank = place.rank, .paramOffset = cell.paramOffset, .flatOffset = place.offset, .elements = 1};
    if (cell.param != kNoParam)
        piece.param = checkpoint().params[index(cell.param)].indexInUnit;
    Stored out;
    const MapQuery& part = m_parts[place.part];
    part.flat().states[part.stateIndex()].visitPiece(piece, [&out](const StoredPiece& stored) {
        out = {stored.run, stored.runOffset};
        return false;
    });
    return out;
}

MapSource::Point MapSource::pointOf(uint32_t rank, uint64_t offset, size_t part) const
{
    if (projection() == MapQuery::Projection::Partitions) {
        return {rank, m_begins[part] + offset, m_number};
    }
    return {0, m_begins[part] + rank * m_parts[part].flat().partition.partitionElements() + offset, m_number};
}

QString MapSource::nameOf(ParamId param) const
{
    return toText(checkpoint().params[index(param)].name);
}

QString MapSource::labelOf(ParamId param) const
{
    return isOutsideUnits() ? nameOf(param) : toText(nameWithoutHolder(checkpoint(), param));
}

} // namespace shardscope::ui
