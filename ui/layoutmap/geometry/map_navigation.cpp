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
    return {{point.row, point.row + uint64_t{1}}, {point.element, point.element + elements}, point.section};
}

/// The first or last element of [begin, end) that `has` it, by halving; `has(from, to)` asks for any of a
/// range, and is true of the whole.
template <class Has>
uint64_t firstThat(uint64_t begin, uint64_t end, const Has& has)
{
    while (end - begin > 1) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (has(begin, middle)) {
            end = middle;
        } else {
            begin = middle;
        }
    }
    return begin;
}

template <class Has>
uint64_t lastThat(uint64_t begin, uint64_t end, const Has& has)
{
    while (end - begin > 1) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (has(middle, end)) {
            begin = middle;
        } else {
            end = middle;
        }
    }
    return begin;
}

/// Whether elements of one row have a finding, or padding.
auto findingIn(const MapSource& source, uint32_t row)
{
    return [&source, row](uint64_t begin, uint64_t end) {
        return begin < end && source.worstSeverity(row, row + 1, begin, end) >= 0;
    };
}

auto paddingIn(const MapSource& source, uint32_t row)
{
    return [&source, row](uint64_t begin, uint64_t end) {
        return begin < end && source.amounts(row, begin, end).padding > 0;
    };
}

/// Goes back over a run of flagged cells to its first one.
uint64_t runBegin(const MapSource& source, uint32_t row, uint64_t element, uint64_t lowest)
{
    for (int walked = 0; walked < kLongestWalk; ++walked) {
        const auto cell = source.cellAt(row, element);
        element = std::max(cell.begin, lowest);
        if (element <= lowest || source.worstSeverity(row, row + 1, element - 1, element) < 0) {
            return element;
        }
        --element;
    }
    return lowest;
}

uint64_t runEnd(const MapSource& source, uint32_t row, uint64_t element, uint64_t highest)
{
    for (int walked = 0; walked < kLongestWalk && element < highest; ++walked) {
        const auto cell = source.cellAt(row, element);
        if (cell.severity < 0) {
            return element;
        }
        element = cell.end;
    }
    return highest;
}

/// The elements of the row that belong to the same rank: a run of findings ends with its rank.
MapRange rankRange(const MapSource& source, uint32_t row, uint64_t element)
{
    if (source.projection() == MapQuery::Projection::Partitions) {
        return {0, source.columns()};
    }
    const auto place = source.placeOf(row, element);
    const uint64_t begin = source.pointOf(place.rank, 0, place.part).element;
    return {begin, begin + source.parts()[place.part].flat().partition.partitionElements()};
}

/// The first finding at or after an element, in the order of rows.
std::optional<Point> firstFinding(const MapSource& source, uint32_t row, uint64_t element)
{
    for (; row < source.rows(); ++row, element = 0) {
        while (element < source.columns()) {
            const uint64_t end = std::max(rankRange(source, row, element).end, element + 1);
            if (const auto has = findingIn(source, row); has(element, end)) {
                return Point{row, firstThat(element, end, has), source.number()};
            }
            element = end;
        }
    }
    return std::nullopt;
}

/// The beginning of the last run of findings before an element.
std::optional<Point> lastFinding(const MapSource& source, uint32_t row, uint64_t element)
{
    for (;; element = source.columns()) {
        while (element > 0) {
            const uint64_t begin = rankRange(source, row, element - 1).begin;
            if (const auto has = findingIn(source, row); has(begin, element)) {
                const uint64_t last = lastThat(begin, element, has);
                return Point{row, runBegin(source, row, last, begin), source.number()};
            }
            element = begin;
        }
        if (row-- == 0) {
            return std::nullopt;
        }
    }
}

/// The first padding at or after an element, in the order of rows.
std::optional<Point> firstPadding(const MapSource& source, uint32_t row, uint64_t begin)
{
    for (; row < source.rows(); ++row, begin = 0) {
        if (const auto has = paddingIn(source, row); has(begin, source.columns())) {
            const uint64_t first = firstThat(begin, source.columns(), has);
            return Point{row, source.cellAt(row, first).begin, source.number()};
        }
    }
    return std::nullopt;
}

/// The last run of padding before an element.
std::optional<Point> lastPadding(const MapSource& source, uint32_t row, uint64_t end)
{
    for (;; end = source.columns()) {
        if (const auto has = paddingIn(source, row); has(0, end)) {
            return Point{row, source.cellAt(row, lastThat(0, end, has)).begin, source.number()};
        }
        if (row-- == 0) {
            return std::nullopt;
        }
    }
}

/// The next section that has cells.
std::optional<uint32_t> nextSection(
    const MapStack& stack, uint32_t section, MapStep step, const IsShown& isShown)
{
    while (step == MapStep::Forward ? section + 1 < stack.count() : section > 0) {
        section = step == MapStep::Forward ? section + 1 : section - 1;
        const MapSource& source = stack.source(section);
        if (isShown(section) && source.rows() > 0 && source.columns() > 0) {
            return section;
        }
    }
    return std::nullopt;
}

/// The first place in the section at or after (backward: before) a row and element.
using Search = std::optional<Point> (*)(const MapSource&, uint32_t row, uint64_t element);

/// What was found inside a section, or else what the next ones have.
std::optional<Point> orInNextSections(std::optional<Point> inside, const MapStack& stack, uint32_t section,
    MapStep step, const IsShown& isShown, Search search)
{
    for (auto next = nextSection(stack, section, step, isShown); !inside && next;
         next = nextSection(stack, *next, step, isShown)) {
        const MapSource& source = stack.source(*next);
        inside = step == MapStep::Forward ? search(source, 0, 0)
                                          : search(source, source.rows() - 1, source.columns());
    }
    return inside;
}

} // namespace

MapBlock cellBlock(const MapSource& source, MapSource::Point point)
{
    const auto cell = source.cellAt(point.row, point.element);
    return {{point.row, point.row + uint64_t{1}}, {cell.begin, cell.end}, source.number()};
}

std::vector<MapBlock> fragmentBlocks(const MapSource& source, ParamId param, MapRange rows, size_t limit)
{
    std::vector<MapBlock> blocks;
    const auto& info = source.checkpoint().params[index(param)];
    const auto part = source.partOf(param);
    if (!part || info.elements == 0) {
        return blocks;
    }
    const FlatPartition& partition = source.parts()[*part].flat().partition;
    uint64_t begin = 0;
    uint64_t end = info.elements;
    if (source.hasEqualRows()) {
        // Rank r holds elements [r·slice, (r+1)·slice): only the requested rows are searched.
        const uint64_t slice = partition.sliceElements(info.indexInUnit);
        begin = std::min(end, slice * rows.begin);
        end = rows.end >= source.ranks() ? end : std::min(end, slice * rows.end);
    }
    partition.forEachFragment(info.indexInUnit, begin, end, [&](const FlatPiece& piece) {
        const auto point = source.pointOf(piece.rank, piece.flatOffset, *part);
        if (rows.contains(point.row)) {
            blocks.push_back(blockOf(point, piece.elements));
        }
        return blocks.size() < limit;
    });
    return blocks;
}

namespace {

std::optional<Point> nextCell(const MapSource& source, Point from, MapStep step)
{
    const auto cell = source.cellAt(from.row, from.element);
    if (step == MapStep::Forward) {
        if (cell.end < source.columns()) {
            return Point{from.row, cell.end, source.number()};
        }
        return from.row + 1 < source.rows() ? std::optional(Point{from.row + 1, 0, source.number()})
                                            : std::nullopt;
    }
    if (cell.begin > 0) {
        return Point{from.row, source.cellAt(from.row, cell.begin - 1).begin, source.number()};
    }
    if (from.row == 0 || source.columns() == 0) {
        return std::nullopt;
    }
    return Point{from.row - 1, source.cellAt(from.row - 1, source.columns() - 1).begin, source.number()};
}

} // namespace

std::optional<Point> neighbour(const MapSource& source, Point from, MapStep step)
{
    auto point = nextCell(source, from, step);
    while (point && source.cellAt(point->row, point->element).kind == CellKind::Outside) {
        point = nextCell(source, *point, step);
    }
    return point;
}

std::optional<Point> siblingFragment(const MapSource& source, Point from, MapStep step)
{
    const auto cell = source.cellAt(from.row, from.element);
    if (cell.param == kNoParam) {
        return std::nullopt;
    }
    const auto& info = source.checkpoint().params[index(cell.param)];
    const uint64_t next = cell.paramOffset + (cell.end - cell.begin);
    const bool forward = step == MapStep::Forward;
    if (forward ? next >= info.elements : cell.paramOffset == 0) {
        return std::nullopt;
    }
    const auto part = source.partOf(cell.param);
    if (!part) {
        return std::nullopt;
    }
    const FlatPartition& partition = source.parts()[*part].flat().partition;
    const auto place = partition.positionOf(info.indexInUnit, forward ? next : cell.paramOffset - 1);
    const auto point = source.pointOf(place.rank, place.flatOffset, *part);
    return Point{point.row, source.cellAt(point.row, point.element).begin, source.number()};
}

std::optional<Point> pointOfElement(const MapSource& source, ParamId param, uint64_t element)
{
    const auto& info = source.checkpoint().params[index(param)];
    const auto part = source.partOf(param);
    if (!part || element >= info.elements) {
        return std::nullopt;
    }
    const auto order = source.checkpoint().transposedOrder(param);
    const auto place = source.parts()[*part].flat().partition.positionOf(
        info.indexInUnit, order ? order->storedOf(element) : element);
    return source.pointOf(place.rank, place.flatOffset, *part);
}

std::optional<Point> firstFragment(const MapSource& source, ParamId param)
{
    const auto order = source.checkpoint().transposedOrder(param);
    return pointOfElement(source, param, order ? order->elementOf(0) : 0);
}

std::optional<Point> nextFinding(const MapSource& source, Point from, MapStep step)
{
    const auto here = rankRange(source, from.row, from.element);
    if (step == MapStep::Forward) {
        return firstFinding(source, from.row, runEnd(source, from.row, from.element, here.end));
    }
    const bool inRun = source.cellAt(from.row, from.element).severity >= 0;
    return lastFinding(
        source, from.row, inRun ? runBegin(source, from.row, from.element, here.begin) : from.element);
}

std::optional<Point> nextPadding(const MapSource& source, Point from, MapStep step)
{
    const auto cell = source.cellAt(from.row, from.element);
    const bool inPadding = cell.param == kNoParam;
    return step == MapStep::Forward ? firstPadding(source, from.row, inPadding ? cell.end : from.element)
                                    : lastPadding(source, from.row, cell.begin);
}

std::optional<Point> nextPadding(const MapStack& stack, Point from, MapStep step, const IsShown& isShown)
{
    return orInNextSections(nextPadding(stack.sourceAt(from), from, step), stack, from.section, step, isShown,
        step == MapStep::Forward ? firstPadding : lastPadding);
}

std::optional<Point> neighbour(const MapStack& stack, Point from, MapStep step, const IsShown& isShown)
{
    if (const auto inside = neighbour(stack.sourceAt(from), from, step)) {
        return inside;
    }
    const auto next = nextSection(stack, from.section, step, isShown);
    if (!next || step == MapStep::Forward) {
        return next ? std::optional(Point{0, 0, *next}) : std::nullopt;
    }
    const MapSource& source = stack.source(*next);
    const uint32_t row = source.rows() - 1;
    return Point{row, source.cellAt(row, source.columns() - 1).begin, *next};
}

std::optional<Point> nextFinding(const MapStack& stack, Point from, MapStep step, const IsShown& isShown)
{
    return orInNextSections(nextFinding(stack.sourceAt(from), from, step), stack, from.section, step, isShown,
        step == MapStep::Forward ? firstFinding : lastFinding);
}

std::optional<Point> nextRank(const MapStack& stack, Point from, MapStep step, const IsShown& isShown)
{
    const MapSource& source = stack.sourceAt(from);
    const auto place = source.placeOf(from.row, from.element);
    const bool forward = step == MapStep::Forward;
    if (forward ? place.rank + 1 < source.ranks() : place.rank > 0) {
        return source.pointOf(forward ? place.rank + 1 : place.rank - 1, place.offset, place.part);
    }
    const auto next = nextSection(stack, from.section, step, isShown);
    if (!next) {
        return std::nullopt;
    }
    return stack.source(*next).pointOf(forward ? 0 : stack.source(*next).ranks() - 1, 0);
}

} // namespace shardscope::ui
