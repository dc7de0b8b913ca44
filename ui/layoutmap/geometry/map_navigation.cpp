// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_navigation.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

using Point = MapSource::Point;

/// Runs of findings are followed for this many cells; then the search continues at the next rank.
constexpr int kLongestWalk = 4096;

MapBlock blockOf(Point point, uint64_t elements)
{
    return {{point.row, point.row + uint64_t{1}}, {point.element, point.element + elements}};
}

/// The first element of [begin, end) of one row with a finding, by halving.
std::optional<uint64_t> firstFindingIn(const MapQuery& query, uint32_t row, uint64_t begin, uint64_t end)
{
    if (begin >= end || query.worstSeverity(row, row + 1, begin, end) < 0) {
        return std::nullopt;
    }
    while (end - begin > 1) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (query.worstSeverity(row, row + 1, begin, middle) >= 0) {
            end = middle;
        } else {
            begin = middle;
        }
    }
    return begin;
}

std::optional<uint64_t> lastFindingIn(const MapQuery& query, uint32_t row, uint64_t begin, uint64_t end)
{
    if (begin >= end || query.worstSeverity(row, row + 1, begin, end) < 0) {
        return std::nullopt;
    }
    while (end - begin > 1) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (query.worstSeverity(row, row + 1, middle, end) >= 0) {
            begin = middle;
        } else {
            end = middle;
        }
    }
    return begin;
}

/// The elements of one rank inside its row.
MapRange rankRange(const MapSource& source, uint32_t rank)
{
    const uint64_t length = source.partition().partitionElements();
    const auto begin = source.pointOf(rank, 0).element;
    return {begin, begin + length};
}

/// Goes back over a run of flagged cells to its first one.
uint64_t runBegin(const MapSource& source, uint32_t row, uint64_t element, uint64_t lowest)
{
    for (int walked = 0; walked < kLongestWalk; ++walked) {
        const auto cell = source.query().cellAt(row, element);
        element = std::max(cell.begin, lowest);
        if (element <= lowest || source.query().worstSeverity(row, row + 1, element - 1, element) < 0) {
            return element;
        }
        --element;
    }
    return lowest;
}

uint64_t runEnd(const MapSource& source, uint32_t row, uint64_t element, uint64_t highest)
{
    for (int walked = 0; walked < kLongestWalk && element < highest; ++walked) {
        const auto cell = source.query().cellAt(row, element);
        if (cell.severity < 0) {
            return element;
        }
        element = cell.end;
    }
    return highest;
}

} // namespace

MapBlock cellBlock(const MapSource& source, MapSource::Point point)
{
    const auto cell = source.query().cellAt(point.row, point.element);
    return {{point.row, point.row + uint64_t{1}}, {cell.begin, cell.end}};
}

std::vector<MapBlock> fragmentBlocks(const MapSource& source, ParamId param, MapRange rows, size_t limit)
{
    std::vector<MapBlock> blocks;
    const auto& info = source.checkpoint().params[index(param)];
    if (info.unit != source.query().unit() || info.elements == 0) {
        return blocks;
    }
    uint64_t begin = 0;
    uint64_t end = info.elements;
    if (source.hasEqualRows()) {
        // Rank r holds elements [r·slice, (r+1)·slice): only the requested rows are searched.
        const uint64_t slice = source.partition().sliceElements(info.indexInUnit);
        begin = std::min(end, slice * rows.begin);
        end = rows.end >= source.ranks() ? end : std::min(end, slice * rows.end);
    }
    source.partition().forEachFragment(info.indexInUnit, begin, end, [&](const FlatPiece& piece) {
        const auto point = source.pointOf(piece.rank, piece.flatOffset);
        if (rows.contains(point.row)) {
            blocks.push_back(blockOf(point, piece.elements));
        }
        return blocks.size() < limit;
    });
    return blocks;
}

std::optional<Point> neighbour(const MapSource& source, Point from, MapStep step)
{
    const auto& query = source.query();
    const auto cell = query.cellAt(from.row, from.element);
    if (step == MapStep::Forward) {
        if (cell.end < query.columns()) {
            return Point{from.row, cell.end};
        }
        return from.row + 1 < query.rows() ? std::optional(Point{from.row + 1, 0}) : std::nullopt;
    }
    if (cell.begin > 0) {
        return Point{from.row, query.cellAt(from.row, cell.begin - 1).begin};
    }
    if (from.row == 0 || query.columns() == 0) {
        return std::nullopt;
    }
    return Point{from.row - 1, query.cellAt(from.row - 1, query.columns() - 1).begin};
}

std::optional<Point> siblingFragment(const MapSource& source, Point from, MapStep step)
{
    const auto cell = source.query().cellAt(from.row, from.element);
    if (cell.param == kNoParam) {
        return std::nullopt;
    }
    const auto& info = source.checkpoint().params[index(cell.param)];
    const uint64_t next = cell.paramOffset + (cell.end - cell.begin);
    const bool forward = step == MapStep::Forward;
    if (forward ? next >= info.elements : cell.paramOffset == 0) {
        return std::nullopt;
    }
    const auto place = source.partition().positionOf(info.indexInUnit, forward ? next : cell.paramOffset - 1);
    const auto point = source.pointOf(place.rank, place.flatOffset);
    return Point{point.row, source.query().cellAt(point.row, point.element).begin};
}

std::optional<Point> firstFragment(const MapSource& source, ParamId param)
{
    const auto& info = source.checkpoint().params[index(param)];
    if (info.unit != source.query().unit() || info.elements == 0) {
        return std::nullopt;
    }
    const auto place = source.partition().positionOf(info.indexInUnit, 0);
    return source.pointOf(place.rank, place.flatOffset);
}

std::optional<Point> nextFinding(const MapSource& source, Point from, MapStep step)
{
    const auto& query = source.query();
    const uint32_t rank = source.placeOf(from.row, from.element).rank;
    const auto here = rankRange(source, rank);
    if (step == MapStep::Forward) {
        const uint64_t after = runEnd(source, from.row, from.element, here.end);
        if (const auto found = firstFindingIn(query, from.row, after, here.end)) {
            return Point{from.row, *found};
        }
        for (uint32_t next = rank + 1; next < source.ranks(); ++next) {
            const uint32_t row = source.pointOf(next, 0).row;
            const auto range = rankRange(source, next);
            if (const auto found = firstFindingIn(query, row, range.begin, range.end)) {
                return Point{row, *found};
            }
        }
        return std::nullopt;
    }
    const bool inRun = query.cellAt(from.row, from.element).severity >= 0;
    const uint64_t before = inRun ? runBegin(source, from.row, from.element, here.begin) : from.element;
    if (const auto found = lastFindingIn(query, from.row, here.begin, before)) {
        return Point{from.row, runBegin(source, from.row, *found, here.begin)};
    }
    for (uint32_t next = rank; next-- > 0;) {
        const uint32_t row = source.pointOf(next, 0).row;
        const auto range = rankRange(source, next);
        if (const auto found = lastFindingIn(query, row, range.begin, range.end)) {
            return Point{row, runBegin(source, row, *found, range.begin)};
        }
    }
    return std::nullopt;
}

} // namespace shardscope::ui
