// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"

#include <vector>

namespace shardscope::ui {

/// Where the elements of one fragment are in another layout of the same training state.
struct MapFlow {
    /// Some of the fragment's elements, in both maps.
    struct Part {
        MapBlock from;
        MapBlock to;
    };
    MapBlock from; ///< the fragment
    ParamId param = kNoParam; ///< in the map it comes from
    std::vector<Part> parts; ///< in the order of the other map's rows; empty if the parameter is not there
    /// False where the two layouts have the parameter in other shapes or another stored order (merged or
    /// split slices): then `parts` are all fragments of the parameter.
    bool isExact = true;
    /// There are more parts than a picture can show, and `parts` has the first ones.
    bool isCut = false;
};

/// The flow of the fragment at a place; empty for padding and outside the map. Its cost grows with the
/// fragments of the one parameter. Pure.
std::optional<MapFlow> flowOf(const MapStack& from, MapSource::Point place, const MapStack& to);

} // namespace shardscope::ui
