// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_bookmarks.h"

#include "ui/layoutmap/geometry/map_navigation.h"

#include <algorithm>
#include <tuple>

namespace shardscope::ui {

namespace {

bool isBefore(const MapSource::Point& left, const MapSource::Point& right)
{
    return std::tie(left.section, left.row, left.element) < std::tie(right.section, right.row, right.element);
}

} // namespace

void MapBookmarks::toggle(const MapSource& source, MapSource::Point point)
{
    const auto cell = cellBlock(source, point).elements;
    const auto begin = source.placeOf(point.row, cell.begin);
    const auto& params = source.parts()[begin.part].flat().params;
    if (params.empty()) {
        return;
    }
    auto& places = m_places[params.front()];
    const Place first{begin.rank, begin.offset};
    const auto at = std::lower_bound(places.begin(), places.end(), first);
    if (at != places.end() && at->first == begin.rank && at->second < begin.offset + cell.size()) {
        places.erase(at);
    } else if (places.size() < kMax) {
        places.insert(at, first);
    }
}

std::vector<MapSource::Point> MapBookmarks::pointsOf(const MapStack& stack) const
{
    std::vector<MapSource::Point> points;
    for (const auto& [param, places] : m_places) {
        const bool known = index(param) < stack.checkpoint().params.size();
        const auto section = known ? stack.sectionOf(param) : std::nullopt;
        if (!section) {
            continue;
        }
        const MapSource& source = stack.source(*section);
        const size_t part = *source.partOf(param);
        const FlatPartition& partition = source.parts()[part].flat().partition;
        for (const auto& [rank, offset] : places) {
            if (rank < partition.ranks() && offset < partition.partitionElements()) {
                points.push_back(source.pointOf(rank, offset, part));
            }
        }
    }
    std::sort(points.begin(), points.end(), isBefore);
    return points;
}

std::optional<MapSource::Point> MapBookmarks::next(const MapStack& stack, MapSource::Point point) const
{
    const auto points = pointsOf(stack);
    if (points.empty()) {
        return std::nullopt;
    }
    const auto after = std::find_if(
        points.begin(), points.end(), [&](const MapSource::Point& mark) { return isBefore(point, mark); });
    return after == points.end() ? points.front() : *after;
}

} // namespace shardscope::ui
