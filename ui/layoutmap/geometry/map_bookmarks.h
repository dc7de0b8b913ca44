// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"

#include <map>
#include <optional>
#include <vector>

namespace shardscope::ui {

/// The marks that a user sets on a map, per unit, kept as rank and offset so that they stay in place when the
/// projection changes. Value type.
class MapBookmarks
{
public:
    static constexpr size_t kMax = 200; ///< per unit

    /// Sets a mark at the beginning of the cell at `point`, or removes the mark in this cell.
    void toggle(const MapSource& source, MapSource::Point point);
    void clear() { m_places.clear(); }

    /// In the order of the map: by section, row, then element.
    [[nodiscard]] std::vector<MapSource::Point> pointsOf(const MapStack& stack) const;
    /// The first mark after `point`, or the first of all; empty if there are no marks.
    [[nodiscard]] std::optional<MapSource::Point> next(const MapStack& stack, MapSource::Point point) const;

private:
    using Place = std::pair<uint32_t, uint64_t>; ///< rank, offset
    std::map<ParamId, std::vector<Place>> m_places; ///< by the first parameter of the unit; ascending
};

} // namespace shardscope::ui
