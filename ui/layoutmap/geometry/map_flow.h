// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"

#include <stop_token>
#include <vector>

namespace shardscope::ui {

/// Where elements of one layout are in another layout of the same training state.
struct MapFlow {
    enum class Of : uint8_t { Fragment, Parameter, Rank };

    /// Some of the elements, in both maps.
    struct Part {
        MapBlock from;
        MapBlock to;
        /// The blocks have these elements and no others; of a rank, besides gaps that are too small to be
        /// seen, and beyond some hundred parts all that goes from the one row to the other.
        uint64_t elements = 0;
    };
    Of of = Of::Fragment;
    MapBlock from; ///< the fragment; of a parameter or rank, the first one
    ParamId param = kNoParam; ///< in the map it comes from; not of a rank
    uint32_t rank = 0; ///< of a rank: its number (rank_list.h)
    uint64_t elements = 0; ///< all of them, without padding
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
/// The flow of all fragments of a parameter; empty if the map does not have it. Pure.
std::optional<MapFlow> flowOfParameter(const MapStack& from, ParamId param, const MapStack& to);
/// The flow of all that a rank holds, one part for each run that is one in both maps; empty if it holds
/// nothing, or `token` was stopped. Its cost grows with the fragments of all parameters of the rank: for a
/// worker. Pure.
std::optional<MapFlow> flowOfRank(
    const MapStack& from, uint32_t rank, const MapStack& to, const std::stop_token& token);

} // namespace shardscope::ui
