// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_flow.h"

#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/models/difference_marks.h"
#include "ui/text/rank_list.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace shardscope::ui {

namespace {

constexpr size_t kMaxParts = 512;
constexpr size_t kMaxFragments = 8192;
constexpr uint64_t kUnseen = 4096; ///< gaps of less than this part of a row are not seen
constexpr uint64_t kMaxVisits = 2'000'000; ///< fragments of the other map, for all of a rank

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

/// A fragment and the place of its first element in the parameter.
struct Fragment {
    MapBlock block;
    uint64_t first = 0;

    [[nodiscard]] uint64_t end() const { return first + block.elements.size(); }
};

/// The fragments of a parameter in its own order.
std::vector<Fragment> fragmentsOf(const MapSource& source, ParamId param)
{
    std::vector<Fragment> out;
    for (const MapBlock& block : fragmentBlocks(source, param, {0, source.rows()}, kMaxFragments)) {
        const auto row = static_cast<uint32_t>(block.rows.begin);
        out.push_back({block, source.cellAt(row, block.elements.begin).paramOffset});
    }
    std::stable_sort(
        out.begin(), out.end(), [](const Fragment& a, const Fragment& b) { return a.first < b.first; });
    return out;
}

/// The same parameter in the other map.
struct Counterpart {
    std::vector<Fragment> fragments; ///< empty if it is not there
    bool isExact = true;
};

Counterpart counterpartOf(const MapStack& from, ParamId param, const MapStack& to)
{
    const ParamId there = sameParameter(from.checkpoint(), param, to.checkpoint());
    const auto section = there == kNoParam ? std::nullopt : to.sectionOf(there);
    if (!section)
        return {};
    return {fragmentsOf(to.source(*section), there),
        haveSameOrder(from.checkpoint(), param, to.checkpoint(), there)};
}

/// Calls `visit(part)` for what a fragment and those of the other map have in common; all of those where the
/// order is another one. Ends when it returns false.
template <class Visit>
bool visitParts(const Fragment& fragment, const Counterpart& other, Visit visit)
{
    const auto begins = other.isExact ? std::partition_point(other.fragments.begin(), other.fragments.end(),
                            [&](const Fragment& there) { return there.end() <= fragment.first; })
                                      : other.fragments.begin();
    for (auto there = begins; there != other.fragments.end(); ++there) {
        MapFlow::Part part{fragment.block, there->block, there->block.elements.size()};
        if (other.isExact) {
            const uint64_t low = std::max(fragment.first, there->first);
            const uint64_t high = std::min(fragment.end(), there->end());
            if (low >= high)
                break;
            const uint64_t here = fragment.block.elements.begin;
            const uint64_t then = there->block.elements.begin;
            part.from.elements = {here + (low - fragment.first), here + (high - fragment.first)};
            part.to.elements = {then + (low - there->first), then + (high - there->first)};
            part.elements = high - low;
        }
        if (!visit(part))
            return false;
    }
    return true;
}

/// Adds the parts of a fragment to a flow, as many as a picture can show.
void addParts(MapFlow& flow, const Fragment& fragment, const Counterpart& other)
{
    flow.isCut = flow.isCut || !visitParts(fragment, other, [&](const MapFlow::Part& part) {
        if (flow.parts.size() == kMaxParts)
            return false;
        flow.parts.push_back(part);
        return true;
    });
}

/// The parts of a rank's flow: what follows each other in both maps is one part.
class RankParts
{
public:
    /// `gap`: elements that a part may leave out, too few to be seen.
    void add(uint32_t section, const MapFlow::Part& part, uint64_t gap)
    {
        const auto [last, isNew]
            = m_last.try_emplace({section, part.to.section, part.to.rows.begin}, m_parts.size());
        if (!isNew) {
            MapFlow::Part& known = m_parts[last->second];
            if (m_parts.size() >= kMaxParts
                || (isNear(known.from, part.from, gap) && isNear(known.to, part.to, gap))) {
                known.from.elements = hull(known.from.elements, part.from.elements);
                known.to.elements = hull(known.to.elements, part.to.elements);
                known.elements += part.elements;
                return;
            }
            last->second = m_parts.size();
        }
        m_parts.push_back(part);
    }

    [[nodiscard]] std::vector<MapFlow::Part> take()
    {
        std::stable_sort(m_parts.begin(), m_parts.end(), [](const MapFlow::Part& a, const MapFlow::Part& b) {
            return std::tie(a.from.section, a.to.section, a.to.rows.begin)
                < std::tie(b.from.section, b.to.section, b.to.rows.begin);
        });
        return std::move(m_parts);
    }

private:
    static MapRange hull(const MapRange& a, const MapRange& b)
    {
        return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
    }
    /// Follows it in both maps, unless the other one has the parameters in another order.
    static bool isNear(const MapBlock& known, const MapBlock& next, uint64_t gap)
    {
        return next.elements.begin >= known.elements.end && next.elements.begin - known.elements.end <= gap;
    }

    std::vector<MapFlow::Part> m_parts;
    std::map<std::tuple<uint32_t, uint32_t, uint64_t>, size_t> m_last; ///< by section, there, row there
};

} // namespace

std::optional<MapFlow> flowOf(const MapStack& from, MapSource::Point place, const MapStack& to)
{
    const MapCell cell = from.cellAt(place);
    if (cell.kind != CellKind::Param || cell.param == kNoParam || cell.begin >= cell.end)
        return std::nullopt;
    MapFlow flow;
    flow.from = cellBlock(from.sourceAt(place), place);
    flow.param = cell.param;
    flow.elements = flow.from.elements.size();
    const Counterpart other = counterpartOf(from, cell.param, to);
    flow.isExact = other.isExact;
    addParts(flow, {flow.from, cell.paramOffset}, other);
    return flow;
}

std::optional<MapFlow> flowOfParameter(const MapStack& from, ParamId param, const MapStack& to)
{
    const auto section = param == kNoParam ? std::nullopt : from.sectionOf(param);
    const std::vector<Fragment> fragments
        = section ? fragmentsOf(from.source(*section), param) : std::vector<Fragment>();
    if (fragments.empty())
        return std::nullopt;
    MapFlow flow;
    flow.of = MapFlow::Of::Parameter;
    flow.from = fragments.front().block;
    flow.param = param;
    const Counterpart other = counterpartOf(from, param, to);
    flow.isExact = other.isExact;
    for (const Fragment& fragment : fragments) {
        flow.elements += fragment.block.elements.size();
        addParts(flow, fragment, other);
    }
    return flow;
}

std::optional<MapFlow> flowOfRank(
    const MapStack& from, uint32_t rank, const MapStack& to, const std::stop_token& token)
{
    MapFlow flow;
    flow.of = MapFlow::Of::Rank;
    flow.rank = rank;
    RankParts parts;
    uint64_t visits = 0;
    for (uint32_t section = 0; section < from.count(); ++section) {
        const MapSource& source = from.source(section);
        const auto row = rowOfRank(from.checkpoint(), source.unit(), rank);
        if (!row || source.columns() == 0)
            continue;
        source.forEachCell(*row, 0, source.columns(), [&](const MapCell& cell) {
            if (cell.kind != CellKind::Param || cell.param == kNoParam || cell.begin >= cell.end)
                return !token.stop_requested();
            const Fragment fragment{cellBlock(source, {*row, cell.begin, section}), cell.paramOffset};
            flow.from = flow.elements == 0 ? fragment.block : flow.from;
            flow.elements += fragment.block.elements.size();
            const Counterpart other = counterpartOf(from, cell.param, to);
            flow.isExact = flow.isExact && other.isExact;
            visitParts(fragment, other, [&](const MapFlow::Part& part) {
                parts.add(section, part, source.columns() / kUnseen);
                return true;
            });
            visits += other.fragments.size();
            flow.isCut = visits > kMaxVisits;
            return !flow.isCut && !token.stop_requested();
        });
    }
    if (flow.elements == 0 || token.stop_requested())
        return std::nullopt;
    flow.parts = parts.take();
    return flow;
}

} // namespace shardscope::ui
