// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_bookmarks.h"

#include "ui/layoutmap/geometry/map_navigation.h"

#include <algorithm>

namespace shardscope::ui {

void MapBookmarks::toggle(const MapSource& source, MapSource::Point point)
{
    auto& places = m_places[source.query().unit()];
    const auto cell = cellBlock(source, point).elements;
    const auto begin = source.placeOf(point.row, cell.begin);
    const Place first{begin.rank, begin.offset};
    const auto at = std::lower_bound(places.begin(), places.end(), first);
    if (at != places.end() && at->first == begin.rank && at->second < begin.offset + cell.size()) {
        places.erase(at);
    } else if (places.size() < kMax) {
        places.insert(at, first);
    }
}

std::vector<MapSource::Point> MapBookmarks::pointsOf(const MapSource& source) const
{
    std::vector<MapSource::Point> points;
    const auto found = m_places.find(source.query().unit());
    if (found == m_places.end()) {
        return points;
    }
    for (const auto& [rank, offset] : found->second) {
        if (rank < source.ranks() && offset < source.partition().partitionElements()) {
            points.push_back(source.pointOf(rank, offset));
        }
    }
    return points;
}

std::optional<MapSource::Point> MapBookmarks::next(const MapSource& source, MapSource::Point point) const
{
    const auto points = pointsOf(source);
    if (points.empty()) {
        return std::nullopt;
    }
    const auto after = std::find_if(points.begin(), points.end(), [&](const MapSource::Point& mark) {
        return std::pair(mark.row, mark.element) > std::pair(point.row, point.element);
    });
    return after == points.end() ? points.front() : *after;
}

} // namespace shardscope::ui
