// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"

#include <optional>
#include <vector>

namespace shardscope::ui {

/// Steps through a map by meaning instead of by pixels. Pure functions; their cost does not grow with the
/// map. Those with a MapSource stay inside this section; those with a MapStack go on in the next one.

enum class MapStep { Backward, Forward };

/// The cell at a point as a block of one row.
MapBlock cellBlock(const MapSource& source, MapSource::Point point);

/// The fragments of a parameter in the given rows, in row order, without padding. At most `limit`.
std::vector<MapBlock> fragmentBlocks(
    const MapSource& source, ParamId param, MapRange rows, size_t limit = 8192);

/// The next cell to the left or right; continues in the neighbouring row. Empty at the map's ends.
std::optional<MapSource::Point> neighbour(const MapSource& source, MapSource::Point from, MapStep step);

/// The place of an element of a parameter, in its logical order. Empty if the section does not have it.
std::optional<MapSource::Point> pointOfElement(const MapSource& source, ParamId param, uint64_t element);

/// The next or previous fragment of the same parameter, in the parameter's own order.
std::optional<MapSource::Point> siblingFragment(const MapSource& source, MapSource::Point from, MapStep step);

/// The first fragment of a parameter that has elements.
std::optional<MapSource::Point> firstFragment(const MapSource& source, ParamId param);

/// The beginning of the next or previous run of findings after the one at `from`; empty if there is none.
std::optional<MapSource::Point> nextFinding(const MapSource& source, MapSource::Point from, MapStep step);

/// The beginning of the next or previous run of padding; empty if there is none.
std::optional<MapSource::Point> nextPadding(const MapSource& source, MapSource::Point from, MapStep step);

/// The same over all sections. Those that `isShown` is false for are left out.
using IsShown = std::function<bool(uint32_t section)>;
std::optional<MapSource::Point> neighbour(
    const MapStack& stack, MapSource::Point from, MapStep step, const IsShown& isShown);
std::optional<MapSource::Point> nextFinding(
    const MapStack& stack, MapSource::Point from, MapStep step, const IsShown& isShown);
std::optional<MapSource::Point> nextPadding(
    const MapStack& stack, MapSource::Point from, MapStep step, const IsShown& isShown);
/// The same offset on the next or previous rank; the first or last rank of the next section after the last.
std::optional<MapSource::Point> nextRank(
    const MapStack& stack, MapSource::Point from, MapStep step, const IsShown& isShown);

} // namespace shardscope::ui
