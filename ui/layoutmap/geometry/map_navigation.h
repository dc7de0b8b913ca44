// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_source.h"

#include <optional>
#include <vector>

namespace shardscope::ui {

/// Steps through a map by meaning instead of by pixels. Pure functions; their cost does not grow with the
/// map.

enum class MapStep { Backward, Forward };

/// The cell at a point as a block of one row.
MapBlock cellBlock(const MapSource& source, MapSource::Point point);

/// The fragments of a parameter in the given rows, in row order, without padding. At most `limit`.
std::vector<MapBlock> fragmentBlocks(
    const MapSource& source, ParamId param, MapRange rows, size_t limit = 8192);

/// The next cell to the left or right; continues in the neighbouring row. Empty at the map's ends.
std::optional<MapSource::Point> neighbour(const MapSource& source, MapSource::Point from, MapStep step);

/// The next or previous fragment of the same parameter, in the parameter's own order.
std::optional<MapSource::Point> siblingFragment(const MapSource& source, MapSource::Point from, MapStep step);

/// The first fragment of a parameter that has elements.
std::optional<MapSource::Point> firstFragment(const MapSource& source, ParamId param);

/// The beginning of the next or previous run of findings after the one at `from`; empty if there is none.
std::optional<MapSource::Point> nextFinding(const MapSource& source, MapSource::Point from, MapStep step);

} // namespace shardscope::ui
