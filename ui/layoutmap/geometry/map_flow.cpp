// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_flow.h"

#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/models/difference_marks.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

constexpr size_t kMaxParts = 512;
constexpr size_t kMaxFragments = 8192;

/// Whether stored element n of a parameter is the same one in both layouts.
bool haveSameOrder(const Checkpoint& from, ParamId fromParam, const Checkpoint& to, ParamId toParam)
{
    const auto orderOf = [](const Checkpoint& checkpoint, ParamId param) {
        const auto order = checkpoint.transposedOrder(param);
        return order ? order->rows : 0;
    };
    return from.params[index(fromParam)].elements == to.params[index(toParam)].elements
        && orderOf(from, fromParam) == orderOf(to, toParam);
}

} // namespace

std::optional<MapFlow> flowOf(const MapStack& from, MapSource::Point place, const MapStack& to)
{
    const MapCell cell = from.cellAt(place);
    if (cell.kind != CellKind::Param || cell.param == kNoParam || cell.begin >= cell.end)
        return std::nullopt;
    MapFlow flow;
    flow.from = cellBlock(from.sourceAt(place), place);
    flow.param = cell.param;
    const ParamId there = sameParameter(from.checkpoint(), cell.param, to.checkpoint());
    const auto section = there == kNoParam ? std::nullopt : to.sectionOf(there);
    if (!section)
        return flow;
    flow.isExact = haveSameOrder(from.checkpoint(), cell.param, to.checkpoint(), there);
    const MapSource& source = to.source(*section);
    const uint64_t begin = cell.paramOffset;
    const uint64_t end = begin + (cell.end - cell.begin);
    for (const MapBlock& block : fragmentBlocks(source, there, {0, source.rows()}, kMaxFragments)) {
        const auto row = static_cast<uint32_t>(block.rows.begin);
        const uint64_t first = source.cellAt(row, block.elements.begin).paramOffset;
        MapFlow::Part part{flow.from, block};
        if (flow.isExact) {
            const uint64_t low = std::max(begin, first);
            const uint64_t high = std::min(end, first + block.elements.size());
            if (low >= high)
                continue;
            part.from.elements = {cell.begin + (low - begin), cell.begin + (high - begin)};
            part.to.elements = {block.elements.begin + (low - first), block.elements.begin + (high - first)};
        }
        if (flow.parts.size() == kMaxParts) {
            flow.isCut = true;
            break;
        }
        flow.parts.push_back(part);
    }
    return flow;
}

} // namespace shardscope::ui
